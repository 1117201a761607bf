"""Where the agent keeps its files (pure): the folders and names of the measured CLI, under a home of its own."""

from __future__ import annotations

import re

NAME_LIMIT = 200
"""A longer encoded path is cut here and told apart by a hash (transcript folder contract)."""

_UNSAFE = re.compile(r"[^A-Za-z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def sessions_folder(home: str) -> str:
    """The folder of descriptors."""
    return f"{home}/sessions"


def projects_folder(home: str) -> str:
    """The folder of transcript folders."""
    return f"{home}/projects"


def descriptor_path(home: str, pid: int) -> str:
    """The descriptor of the agent process `pid`."""
    return f"{sessions_folder(home)}/{pid}.json"


def transcript_path(home: str, cwd: str, session_id: str) -> str:
    """The transcript of a conversation that runs in `cwd` (a resolved path)."""
    return f"{projects_folder(home)}/{encode_folder(cwd)}/{session_id}.jsonl"


def encode_folder(path: str) -> str:
    """The transcript folder's name for a path: every UTF-16 unit outside [A-Za-z0-9] becomes `-`.

    Over 200 units: the first 200, `-`, and a base-36 hash of the raw path.
    """
    units = path.encode("utf-16-le", "surrogatepass")
    raw = [units[at] | units[at + 1] << 8 for at in range(0, len(units), 2)]
    name = _UNSAFE.sub("-", "".join(map(chr, raw)))
    if len(name) <= NAME_LIMIT:
        return name
    value = 0
    for unit in raw:
        value = (value * 31 + unit) & 0xFFFFFFFF
    if value & 0x80000000:
        value = 0x100000000 - value
    return f"{name[:NAME_LIMIT]}-{_base36(value)}"


def _base36(value: int) -> str:
    text = ""
    while True:
        value, digit = divmod(value, 36)
        text = _DIGITS[digit] + text
        if value == 0:
            return text
