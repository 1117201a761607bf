update launch set ended_at = :ended_at where session_id = :session_id and generation = :generation;
