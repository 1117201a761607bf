delete from launch where ended_at is not null and launched_at < :before;
