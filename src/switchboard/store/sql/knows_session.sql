select exists (select 1 from session_meta where session_id = :session_id)
or exists (select 1 from launch where session_id = :session_id)
or exists (select 1 from working_set where session_id = :session_id);
