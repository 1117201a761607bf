-- Version 2: settings, projects, the working set, remote sessions. Of a launch: the first process of its PID namespace,
-- and the process that owned the conversation where that was not the one we started (a shell stood between).
create table setting (
  scope text primary key,
  value text not null
) strict;

-- Times are wall milliseconds; null: not so. `host` is empty for a project of this machine. A kind without a time of
-- hiding hides nothing.
create table project (
  host text not null default '',
  path text not null,
  added_at integer,
  hidden_at integer,
  hidden_kind text,
  archived_at integer,
  primary key (host, path)
) strict;

create table working_set (
  position integer primary key,
  session_id text not null unique,
  profile text not null,
  project text not null,
  active integer not null default 0
) strict;

-- Nothing fills it yet: no other machine is connected to. It is there so that refusals of remote sessions are real.
create table remote_session (
  session_id text not null,
  host text not null,
  primary key (session_id, host)
) strict;

alter table launch add column init_start text;
alter table launch add column writer_pid integer;
alter table launch add column writer_start text;

create index launch_by_process on launch (pid, start);
create index launch_by_writer on launch (writer_pid, writer_start);
