"""Finding the host, for commands."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping

from switchboard.common.paths import host_socket, runtime_folder
from switchboard.common.settings import SettingsError, data_dir


def host_data_dir(environment: Mapping[str, str] = os.environ) -> str:
    """Return the data directory, absolute. Raises `SettingsError`."""
    return os.path.abspath(data_dir(environment))


def socket_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of the host's socket. Raises `SettingsError`."""
    temporary = os.path.realpath(tempfile.gettempdir())
    return host_socket(runtime_folder(host_data_dir(environment), os.geteuid(), temporary))


def complain(text: str) -> None:
    """Say an error on standard error."""
    print(f"switchboard: {text}", file=sys.stderr)


__all__ = ["SettingsError", "complain", "host_data_dir", "socket_path"]
