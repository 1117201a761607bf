insert into setting (scope, value) values (:scope, :value)
on conflict (scope) do update set value = excluded.value;
