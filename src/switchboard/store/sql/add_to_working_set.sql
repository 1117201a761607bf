insert into working_set (position, session_id, profile, project, active)
values (:position, :session_id, :profile, :project, :active);
