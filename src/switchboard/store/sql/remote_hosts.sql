select host from remote_session where session_id = :session_id order by host;
