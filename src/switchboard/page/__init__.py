"""The visible side: the messages that pages and the host exchange, and the pages themselves."""
