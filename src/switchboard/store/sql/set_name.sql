insert into session_meta (session_id, name) values (:session_id, :name)
on conflict (session_id) do update set name = excluded.name;
