insert into project (path, added_at) values (:path, :at)
on conflict (host, path) do update set added_at = coalesce(added_at, excluded.added_at), hidden_at = null, hidden_kind = null;
