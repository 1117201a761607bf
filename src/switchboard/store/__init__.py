"""What outlives the host besides sessions: names, launches, settings. SQL stands in named files."""
