"""A fake CLI in a PID namespace of its own: it writes its own descriptor from inside, and waits for its input to end.

It is a script for the plain shell, so that any user can run it. It takes the number that the test wants it to have by
letting so many processes pass before it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from switchboard.clis.procfs import ProcFs

NOBODY = 65_534

Launcher = Literal["unshare", "bwrap", "nested unshare"]

WRITER = """\
stat=$(cat /proc/$$/stat)
set -- ${stat##*)} "$@"
start=${20}
shift 50
printf '{"pid":%s,"sessionId":"%s","procStart":"%s","status":"idle","cwd":"/p"%s}' $$ "$1" "$start" "$3" >"$2/$$.json"
echo ready
read -r _
"""

BEGIN = """\
exec 3<&0
last=$$
want=$1
shift
while [ "$last" -lt $((want - 1)) ]; do
  : & last=$!
  wait
done
sh -c "$0" sh "$@" <&3 &
wait
"""

BOX = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")

NAMESPACES = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


class BoxedCli:
    """One that runs. `pid`: its number here, `number`: its number in its own namespace."""

    def __init__(self, process: subprocess.Popen[str], number: int) -> None:
        self._process = process
        self.number = number
        self.outer = process.pid
        processes = ProcFs()
        found = [
            pid
            for pid in processes.numbers()
            if (processes.ns_pids(pid) or ())[1:][-1:] == (number,) and processes.is_descendant(pid, process.pid)
        ]
        assert len(found) == 1, found
        [self.pid] = found

    def end(self) -> None:
        """Let its input end, and return when it has ended with all that was started for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)


@contextmanager
def boxed_cli(
    folder: Path,
    session_id: str,
    number: int,
    launcher: Launcher = "bwrap",
    *,
    unprivileged: bool = False,
    more: str = "",
) -> Iterator[BoxedCli]:
    """Start one that calls itself `number` and writes into `folder`. `more`: further fields of its descriptor.

    `unprivileged`: as nobody, if we may become that; else it is started as who we are.
    """
    inner = ["sh", "-c", BEGIN, WRITER, str(number), session_id, str(folder), more]
    command = {
        "unshare": [*NAMESPACES, *inner],
        "bwrap": [*BOX, "--bind", str(folder), str(folder), *inner],
        "nested unshare": [*NAMESPACES, *NAMESPACES, *inner],
    }[launcher]
    ids = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if unprivileged and os.geteuid() == 0 else {}
    process = subprocess.Popen(  # type: ignore[call-overload] # the ids of one branch
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **ids
    )
    try:
        assert process.stdout.readline() == "ready\n"
        cli = BoxedCli(process, number)
        yield cli
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)
