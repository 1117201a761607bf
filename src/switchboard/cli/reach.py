"""Finding the host, for commands."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping

from switchboard.common.paths import host_socket, runtime_folder
from switchboard.common.settings import SettingsError, data_dir
from switchboard.host.instance import living_host
from switchboard.page.local_client import HostForeign, HostUnavailable


def host_data_dir(environment: Mapping[str, str] = os.environ) -> str:
    """Return the data directory, absolute. Raises `SettingsError`."""
    return os.path.abspath(data_dir(environment))


def socket_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of the host's socket. Raises `SettingsError`."""
    temporary = os.path.realpath(tempfile.gettempdir())
    return host_socket(runtime_folder(host_data_dir(environment), os.geteuid(), temporary))


def explain(error: Exception, environment: Mapping[str, str] = os.environ) -> str:
    """Return what to tell a person whose command has not reached the host.

    A host whose socket was deleted, with the means to notice that gone as well, runs all the same: `switchboard up`
    would be refused.
    """
    if isinstance(error, HostUnavailable) and not isinstance(error, HostForeign):
        path = socket_path(environment)
        if not os.path.lexists(path) and (pid := living_host(host_data_dir(environment))) is not None:
            return (
                f"the host (process {pid}) runs, but its socket {path} is not there: end it with `kill {pid}` and "
                "start it again with `switchboard up`; sessions go on meanwhile"
            )
    return str(error)


def complain(text: str) -> None:
    """Say an error on standard error."""
    print(f"switchboard: {text}", file=sys.stderr)


__all__ = ["SettingsError", "complain", "explain", "host_data_dir", "socket_path"]
