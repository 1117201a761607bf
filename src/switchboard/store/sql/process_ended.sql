update launch set ended_at = :ended_at
where pid = :pid and start = :start and boot_id = :boot_id and ended_at is null;
