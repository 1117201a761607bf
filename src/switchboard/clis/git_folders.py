"""Whether a directory is in a git repository (door). A look at names only: git itself is not asked."""

from __future__ import annotations

import os


def in_git_repository(directory: str) -> bool:
    """Tell whether the absolute directory or one above it holds `.git` (a folder, or the file of a worktree)."""
    path = os.path.abspath(directory)
    while True:
        if os.path.exists(os.path.join(path, ".git")):
            return True
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent
