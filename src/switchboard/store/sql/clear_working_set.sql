delete from working_set;
