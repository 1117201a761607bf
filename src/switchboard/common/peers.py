"""Who is at the other end of a Unix socket (door)."""

from __future__ import annotations

import os
import socket
import struct
import sys


def peer_is_us(connection: socket.socket) -> bool:
    """Return whether the peer runs as the user that we run as. False when the system does not say."""
    if sys.platform == "linux":
        try:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return False
        _, uid, _ = struct.unpack("3i", credentials)
        return bool(uid == os.geteuid())
    # LOCAL_PEERCRED: struct xucred is {version u32, uid u32, …}.
    try:
        credentials = connection.getsockopt(0, 1, 76)
    except OSError:
        return False
    return bool(struct.unpack_from("II", credentials)[1] == os.geteuid())
