insert or replace into remote_session (session_id, host) values (:session_id, :host);
