"""The file protocol: a request becomes an action becomes one result."""
