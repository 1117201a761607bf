"""What a start in a sandbox is given: the sandbox's command in place of the CLI's, and its environment (pure).

The command is the one of this installation. It is started without the session's directory in Python's search path: what
lies there may have been written from inside a sandbox, and this is the last thing that runs outside of one. What it is
to protect and to mount stands in its environment, all of it absolute: its own working directory is the session's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from switchboard.clis.profiles import CliProfile, UnsupportedStart

NOT_LINUX = "Sandbox mode requires Linux (bubblewrap)"

_REMEDY = "nothing was started without it (`switchboard config set sandbox false` takes the wish back)"


@dataclass(frozen=True, slots=True)
class SandboxPlace:
    """What the sandbox of one start is made with; all paths are absolute.

    `triggers_dir`, `data_dir`, `runtime_dir`: the host's own, to be protected or hidden. `sessions_dir`: the folder for
    this start's descriptors alone. `project_folder`: the name of the folder that the session's transcript goes to.
    `binds`: further directories to be writable. `platform`: as Python names it.
    """

    triggers_dir: str
    data_dir: str
    runtime_dir: str
    sessions_dir: str
    project_folder: str
    binds: tuple[str, ...] = ()
    platform: str = "linux"

    @property
    def environment(self) -> dict[str, str]:
        """What the sandbox command reads. Each is always there, so that none is taken from somewhere else."""
        return {
            "SWITCHBOARD_SANDBOX_TRIGGERS_DIR": self.triggers_dir,
            "SWITCHBOARD_SANDBOX_DATA_DIR": self.data_dir,
            "SWITCHBOARD_SANDBOX_RUNTIME_DIR": self.runtime_dir,
            "SWITCHBOARD_SANDBOX_SESSIONS_DIR": self.sessions_dir,
            "SWITCHBOARD_SANDBOX_BINDS": ":".join(self.binds),
            "SWITCHBOARD_SANDBOX_PROJECT_FOLDER": self.project_folder,
        }


def check_sandbox(profile: CliProfile, platform: str) -> None:
    """Raise `UnsupportedStart` where that CLI cannot be started in a sandbox on this platform."""
    if not platform.startswith("linux"):
        raise UnsupportedStart(f"{NOT_LINUX}; {_REMEDY}")
    if profile.starts.sandbox is None:
        raise UnsupportedStart(
            f"the saved settings ask for a sandbox, and no sandbox for {profile.title} is known here; {_REMEDY}"
        )


def sandbox_command(profile: CliProfile, python: str) -> tuple[str, ...]:
    """Return what stands in place of the CLI's program; the CLI's arguments follow. `python`: this installation's."""
    assert profile.starts.sandbox is not None
    # Without PYTHONPATH and the like (-E), whose empty element would be the session's directory, and without that (-P).
    return (python, "-E", "-P", "-m", "switchboard.sandbox", "--cli", profile.starts.sandbox, "--")


def binds(folders: Iterable[str], exists: Callable[[str], bool]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the directories that can be passed on, and in sentences what becomes of the others.

    One that does not exist is passed on, in case that it does when the sandbox is made; it is not created for that.
    """
    fit: dict[str, None] = {}
    warnings: dict[str, None] = {}
    for folder in folders:
        if ":" in folder or "\n" in folder:
            warnings[
                f"the sandbox goes without {folder!r}: a path with a colon or a line break cannot be passed on"
            ] = None
            continue
        if not exists(folder):
            warnings[f"the sandbox goes without {folder}, which does not exist"] = None
        fit[folder] = None
    return tuple(fit), tuple(warnings)
