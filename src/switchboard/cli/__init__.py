"""One file per subcommand. Each imports what it needs when it runs: scripts call these commands in loops."""
