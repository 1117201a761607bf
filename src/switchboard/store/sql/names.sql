select session_id, name from session_meta where name is not null;
