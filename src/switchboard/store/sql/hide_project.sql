insert into project (path, hidden_at, hidden_kind) values (:path, :at, :kind)
on conflict (host, path) do update set hidden_at = excluded.hidden_at, hidden_kind = excluded.hidden_kind;
