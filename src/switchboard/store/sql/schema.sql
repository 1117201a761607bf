-- Version 1. A launch is recorded before the process starts, so that a later host can prove what became of it.
create table if not exists session_meta (
  session_id text primary key,
  name text
) strict;

create table if not exists launch (
  session_id text not null,
  generation integer not null,
  profile text not null,
  cwd text not null,
  launched_at integer not null,
  pid integer,
  start text,
  boot_id text,
  pid_namespace text,
  ended_at integer,
  primary key (session_id, generation)
) strict;

create index if not exists launch_by_time on launch (launched_at);
