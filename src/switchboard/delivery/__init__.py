"""Getting text into a session without harm: politeness, readiness, submission and its evidence."""
