"""Whether sessions can be sandboxed on this machine: one is made, around nothing, and the kernel is asked (driver)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping

from switchboard.cli.finding import Finding

SECONDS = 10.0
"""It takes some milliseconds."""

TRIAL = "--unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc -- /bin/true"
"""What every sandbox needs: namespaces of its own, and a /proc and /dev of its own."""

_CLONE = "kernel/unprivileged_userns_clone"
_APPARMOR = "kernel/apparmor_restrict_unprivileged_userns"
_MOST = "user/max_user_namespaces"
_TYPING = "dev/tty/legacy_tiocsti"
"""The setting itself came with Linux 6.2. Before that, all could."""

_REMEDIES: tuple[tuple[str, Callable[[int], bool], str], ...] = (
    (_CLONE, lambda value: value == 0, "as root: `sysctl -w kernel.unprivileged_userns_clone=1`, and in /etc/sysctl.d"),
    (_MOST, lambda value: value == 0, "as root: `sysctl -w user.max_user_namespaces=15000`, and in /etc/sysctl.d"),
    (
        _APPARMOR,
        lambda value: value != 0,
        "AppArmor forbids it: give bwrap a profile that allows `userns` (docs/sandbox.md has one)",
    ),
)

_OTHERWISE = "in a container, allow user namespaces there (with Docker: another seccomp and AppArmor profile)"


def sandbox_findings(environment: Mapping[str, str], sysctls: str = "/proc/sys") -> Iterator[Finding]:
    """Try it. `sysctls`: where the kernel's settings can be read."""
    program = shutil.which("bwrap", path=environment.get("PATH"))
    if program is None:
        yield Finding("note", "bubblewrap was not found: sessions cannot be sandboxed", "apt-get install bubblewrap")
        return
    trouble = _trouble(program, environment)
    if trouble is None:
        yield Finding("ok", f"Sandboxes: {program} makes them")
        if _is(f"{sysctls}/{_TYPING}", lambda value: value != 0):
            yield Finding(
                "note",
                "Sandboxes: the kernel lets a program type into its terminal (dev.tty.legacy_tiocsti is 1). In one "
                "that you start by hand, with claude-sandbox, that is your own",
                "as root: `sysctl -w dev.tty.legacy_tiocsti=0`, and in /etc/sysctl.d",
            )
    else:
        remedies = [text for name, forbids, text in _REMEDIES if _is(f"{sysctls}/{name}", forbids)]
        text = f"Sandboxes: {program} cannot make one: {trouble}"
        yield Finding("note", text, "; ".join(remedies) or _OTHERWISE)


def _trouble(program: str, environment: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            [program, *TRIAL.split()],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it does not come back"
    except OSError as error:
        return f"it does not start ({error.strerror})"
    if done.returncode == 0:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("bwrap: ")[:200] if lines else f"it ends with code {done.returncode}"


def _is(path: str, forbids: Callable[[int], bool]) -> bool:
    try:
        with open(path, encoding="ascii") as file:
            return forbids(int(file.read()))
    except (OSError, ValueError):
        return False
