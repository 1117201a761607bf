select session_id, profile, project, active from working_set order by position;
