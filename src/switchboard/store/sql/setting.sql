select value from setting where scope = :scope;
