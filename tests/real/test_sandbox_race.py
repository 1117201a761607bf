"""A session that exchanges directories of its project for links, again and again, while another sandbox is made there.

The exchanging program runs outside, where it can do all that one in a sandbox of that project could, and more quickly.
Whether an exchange comes at the right moment is chance; that nothing comes of it is not. The moments themselves are
chosen in `test_sandbox_wrapper`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.real.test_sandbox_wrapper import user
from tests.support.sandbox_rig import Rig, as_user, python_for, snapshot

__all__ = ["user"]

STARTS = 8

EXCHANGING = """
import ctypes, os, sys, time
rename = ctypes.CDLL(None, use_errno=True).renameat2
here, exchange = -100, 2
print("exchanging", flush=True)
while os.getppid() == int(sys.argv[1]):
    rename(here, b"sub", here, b"link", exchange)
    time.sleep(float(sys.argv[2]))
"""

INSIDE = """
echo ran
for round in 1 2 3; do
  for way in sub link; do
    [ -e $way/.switchboard/triggers ] && echo "$way shows what lies outside"
    (echo x >$way/.switchboard/triggers/evil.json) 2>/dev/null
    (echo x >$way/kept) 2>/dev/null
  done
done
true
"""


@pytest.fixture
def rig(user: str) -> Iterator[Rig]:
    folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield Rig(folder, user)
    shutil.rmtree(folder)


@contextmanager
def exchanging(rig: Rig, pause: float) -> Iterator[None]:
    command = [python_for(rig.user), "-I", "-c", EXCHANGING, str(os.getpid()), str(pause)]
    process = subprocess.Popen(  # type: ignore[call-overload]  # the arguments of one user
        command, cwd=rig.project, stdout=subprocess.PIPE, text=True, **as_user(rig.user)
    )
    with process:
        assert process.stdout.readline() == "exchanging\n"
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("pause", [0.0005, 0.005])
@pytest.mark.parametrize("target", ["{home}", "/oldroot{home}"])
def test_what_lies_outside_of_the_project_stays_there(rig: Rig, target: str, pause: float) -> None:
    triggers = rig.directory(".switchboard/triggers/processed").parent
    rig.write("kept", "the person's\n")
    rig.directory(rig.project / "sub/.claude")
    rig.directory(rig.project / "sub/.switchboard")
    (rig.project / "link").symlink_to(target.format(home=rig.home))
    rig.start("true")  # makes what is missing
    before = snapshot(triggers)
    ends = set()
    with exchanging(rig, pause):
        for _ in range(STARTS):
            ended = rig.start(INSIDE)
            ends.add(ended.code)
            if ended.code == 125:
                assert ended.out == ""
                assert "claude-sandbox: " in ended.errors
            else:
                assert (ended.code, ended.out) == (0, "ran\n"), ended
            assert snapshot(triggers) == before
            assert (rig.home / "kept").read_text() == "the person's\n"
    assert ends <= {0, 125}
