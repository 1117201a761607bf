update launch set ended_at = :ended_at where generation = :generation and pid = :pid;
