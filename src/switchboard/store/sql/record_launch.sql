insert or replace into launch
(session_id, generation, profile, cwd, launched_at, pid, start, boot_id, pid_namespace, init_start, ended_at)
values
(:session_id, :generation, :profile, :cwd, :launched_at, :pid, :start, :boot_id, :pid_namespace, :init_start, :ended_at);
