select path, added_at, hidden_at, hidden_kind, archived_at from project where host = '' order by path;
