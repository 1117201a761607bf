"""From an environment to what a sandbox is asked for (pure)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from switchboard.common.paths import normalise_directory, runtime_folder
from switchboard.sandbox.control_paths import ControlPaths
from switchboard.sandbox.mounts import Refusal, is_below
from switchboard.sandbox.policy import PythonPlace, SandboxCli, SandboxRequest

BINDS = "SWITCHBOARD_SANDBOX_BINDS"
PROJECT_FOLDER = "SWITCHBOARD_SANDBOX_PROJECT_FOLDER"
PODMAN = "SWITCHBOARD_SANDBOX_PODMAN"
DEBUG = "SWITCHBOARD_SANDBOX_DEBUG"
TRIGGERS = "SWITCHBOARD_SANDBOX_TRIGGERS_DIR"
DATA = "SWITCHBOARD_SANDBOX_DATA_DIR"
RUNTIME = "SWITCHBOARD_SANDBOX_RUNTIME_DIR"
SESSIONS = "SWITCHBOARD_SANDBOX_SESSIONS_DIR"

PREFIX = BINDS.removesuffix("BINDS")
"""Of all variables between whoever starts a sandbox and this command; none of them is passed on."""


def request_from(
    environment: Mapping[str, str],
    cli: SandboxCli,
    arguments: Sequence[str],
    *,
    cwd: str,
    user: int,
    temporary: str,
    python: PythonPlace,
) -> SandboxRequest:
    """Return the request. `temporary`: the system's folder for temporary files. Raises `Refusal`.

    A host names every path that its sandboxes must not reach; for a sandbox that is started by hand they are found
    as the host would find them.
    """
    home = environment.get("HOME", "")
    if not home.startswith("/"):
        raise Refusal("HOME is not set to an absolute path")
    binds = environment.get(BINDS, "")
    control = _control(environment, user, temporary)
    return SandboxRequest(
        cli=cli,
        arguments=tuple(arguments),
        cwd=cwd,
        home=normalise_directory(home),
        environment=environment,
        control=control,
        binds=tuple(path for path in binds.split(":") if path),
        project_folder=environment.get(PROJECT_FOLDER) or None,
        podman=environment.get(PODMAN) == "1",
        user=user,
        python=python,
    )


def inner_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of what runs inside."""
    return {name: value for name, value in environment.items() if not name.startswith(PREFIX)}


def _control(environment: Mapping[str, str], user: int, temporary: str) -> ControlPaths:
    triggers, data = environment.get(TRIGGERS), environment.get(DATA)
    if not triggers or not data:
        # Not loaded for a host's sandboxes: their start is waited for.
        from switchboard.common.settings import TriggerSettings, data_dir

        triggers = triggers or _absolute("SWITCHBOARD_TRIGGERS_DIR", TriggerSettings(environment).triggers_dir)
        data = data or _absolute("SWITCHBOARD_DATA_DIR", data_dir(environment))
    runtime = environment.get(RUNTIME) or runtime_folder(data, user, temporary)
    own = environment.get(SESSIONS) or None
    for name, path in ((TRIGGERS, triggers), (DATA, data), (RUNTIME, runtime), (SESSIONS, own)):
        if path is not None and not path.startswith("/"):
            raise Refusal(f"{name}: the control directory {path!r} is not an absolute path")
    if own is not None and not is_below(posixpath.normpath(own), posixpath.normpath(data)):
        raise Refusal(f"{SESSIONS}: {own} is not below the data directory {data}")
    return ControlPaths(triggers, (data, runtime), own)


def _absolute(name: str, path: str) -> str:
    """A relative path is relative to the host's directory, which is not known here."""
    if not path.startswith("/"):
        raise Refusal(f"{name}: the control directory {path!r} is relative, to what is not known here; set it absolute")
    return path
