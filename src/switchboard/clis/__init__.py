"""What agent CLIs publish about themselves, and how they are started: profiles, descriptors, processes, transcripts."""
