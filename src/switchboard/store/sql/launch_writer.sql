update launch set writer_pid = :writer_pid, writer_start = :writer_start
where pid = :pid and start = :start and boot_id = :boot_id;
