"""Sandboxed sessions: what a sandbox may see and write, as a plan, and the command that starts one with bubblewrap."""
