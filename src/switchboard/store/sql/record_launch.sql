insert or replace into launch (session_id, generation, profile, cwd, launched_at, pid, start, boot_id, pid_namespace)
values (:session_id, :generation, :profile, :cwd, :launched_at, :pid, :start, :boot_id, :pid_namespace);
