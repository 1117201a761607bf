insert into project (path, archived_at) values (:path, :at)
on conflict (host, path) do update set archived_at = excluded.archived_at;
