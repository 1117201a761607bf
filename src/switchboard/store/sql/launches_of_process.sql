select session_id, generation, profile, cwd, launched_at, pid, start, boot_id, pid_namespace, init_start, ended_at
from launch where pid = :pid and start = :start
union all
select session_id, generation, profile, cwd, launched_at, writer_pid, writer_start, boot_id, pid_namespace, init_start, null
from launch where writer_pid = :pid and writer_start = :start and not (pid is :pid and start is :start);
