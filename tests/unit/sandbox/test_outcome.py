"""What bubblewrap has mounted, as the kernel's table says, against what was planned."""

from __future__ import annotations

import pytest

from switchboard.sandbox.host_mounts import HostMounts
from switchboard.sandbox.mounts import Mount
from switchboard.sandbox.outcome import Expected

HOST = """\
20 1 8:1 / / rw,relatime - ext4 /dev/sda rw
21 20 8:2 /volume /srv rw,relatime - btrfs /dev/sdb rw
22 21 8:3 / /srv/project/data rw,relatime - ext4 /dev/sdc rw
23 20 0:5 / /dev rw - devtmpfs devtmpfs rw
24 23 0:7 / /dev/pts rw - devpts devpts rw
25 20 0:6 / /proc rw - proc proc rw
26 20 0:8 / /run/user/7 rw - tmpfs tmpfs rw
"""

PLAN = (
    Mount("dev", "/dev"),
    Mount("proc", "/proc"),
    Mount("tmpfs", "/tmp"),
    Mount("dir", "/var"),
    Mount("ro", "/usr", "/usr"),
    Mount("symlink", "/bin", "usr/bin"),
    Mount("ro", "/proc/sys", "/proc/sys"),
    Mount("rw", "/srv/project", "/srv/project"),
    Mount("rw", "/srv/project/sub", "/srv/project/sub"),
    Mount("ro", "/srv/project/sub/.git", "/srv/project/sub/.git"),
    Mount("file", "/home/a/.claude.json", content=b"{}"),
    Mount("ro", "/home/a b/.claude", "/home/a b/.claude"),
)

MADE = r"""
66 43 0:40 / / rw - tmpfs tmpfs rw
44 66 8:1 / /oldroot rw - ext4 /dev/sda rw
67 66 0:40 /newroot /newroot rw - tmpfs tmpfs rw
68 67 0:41 / /newroot/dev rw - tmpfs tmpfs rw
69 68 0:5 /null /newroot/dev/null rw - devtmpfs devtmpfs rw
70 68 0:42 / /newroot/dev/pts rw - devpts devpts rw
71 68 0:7 /3 /newroot/dev/console rw - devpts devpts rw
72 67 0:43 / /newroot/proc rw - proc proc rw
73 72 0:43 /irq /newroot/proc/irq ro - proc proc rw
74 72 0:6 /sys /newroot/proc/sys ro - proc proc rw
75 67 0:44 / /newroot/tmp rw - tmpfs tmpfs rw
76 67 8:1 /usr /newroot/usr ro - ext4 /dev/sda rw
77 67 8:2 /volume/project /newroot/srv/project rw - btrfs /dev/sdb rw
78 77 8:3 / /newroot/srv/project/data rw - ext4 /dev/sdc rw
79 77 8:2 /volume/project/sub /newroot/srv/project/sub rw - btrfs /dev/sdb rw
80 79 8:2 /volume/project/sub/.git /newroot/srv/project/sub/.git ro - btrfs /dev/sdb rw
81 67 8:1 /home/a\040b/.claude /newroot/home/a\040b/.claude ro - ext4 /dev/sda rw
""".strip()


def trouble(made: str, plan: tuple[Mount, ...] = PLAN) -> str | None:
    return Expected(plan, HostMounts(HOST)).trouble(HostMounts(made), "/newroot")


def test_as_planned() -> None:
    assert trouble(MADE) is None


@pytest.mark.parametrize(
    ("number", "optional"),
    [
        *((number, False) for number in (67, 68, 74, 75, 76, 77, 79, 80, 81)),
        *((number, True) for number in (69, 70, 71, 73, 78)),
    ],
)
def test_what_may_be_missing(number: int, optional: bool) -> None:
    lines = MADE.splitlines()
    left = [line for line in lines if not line.startswith(f"{number} ")]
    assert len(left) == len(lines) - 1
    assert (trouble("\n".join(left)) is None) is optional


@pytest.mark.parametrize(
    ("planned", "made", "said"),
    [
        pytest.param(
            "8:2 /volume/project/sub ", "8:1 /home/a ", "'/srv/project/sub' shows '/home/a', writable", id="foreign"
        ),
        pytest.param(
            "8:2 /volume/project/sub/.git ",
            "8:1 /home/a/.git ",
            "'/srv/project/sub/.git' shows '/home/a/.git'",
            id="foreign and read-only",
        ),
        pytest.param(
            "8:2 /volume/project/sub ",
            "8:1 /volume/project/sub ",
            "'/srv/project/sub' shows '/volume/project/sub', writable",
            id="the same path of another file system",
        ),
        pytest.param(
            "/newroot/srv/project/sub/.git ro", "/newroot/srv/project/sub/.git rw", "writable", id="writable after all"
        ),
        pytest.param("/newroot/usr ro", "/newroot/usr rw", "'/usr' shows '/usr', writable", id="a writable system"),
        pytest.param("/newroot/srv/project/sub/.git ro", "/oldroot/x ro", "nothing is mounted at", id="landed outside"),
        pytest.param("/newroot/srv/project/sub/.git ro", "/newroot/usr/bin/bash ro", "'/usr/bin/bash'", id="landed on"),
        pytest.param("/volume/project/sub/.git ", "/volume/project/sub/.git//deleted ", "deleted", id="removed"),
        pytest.param(
            "0:44 / /newroot/tmp", "0:8 / /newroot/tmp", "'/tmp' shows '/'", id="the host's in an empty one's place"
        ),
        pytest.param(
            "0:44 / /newroot/tmp rw - tmpfs", "0:44 / /newroot/tmp rw - ext4", "'/tmp'", id="not an empty one"
        ),
        pytest.param("0:43 /irq", "0:6 /irq", "'/proc/irq'", id="the host's processes"),
        pytest.param("0:43 / /newroot/proc rw", "0:6 / /newroot/proc rw", "'/proc'", id="all of the host's processes"),
        pytest.param("0:42 / /newroot/dev/pts", "0:7 / /newroot/dev/pts", "'/dev/pts'", id="the host's terminals"),
        pytest.param("0:5 /null /newroot/dev/null", "0:5 /sda /newroot/dev/sda", "'/dev/sda'", id="another device"),
        pytest.param(
            "8:3 / /newroot/srv/project/data", "8:3 / /newroot/srv/project/sub/data", "data", id="moved along"
        ),
        pytest.param("0:40 /newroot /newroot rw", "8:1 /x /newroot rw", "'/' shows '/x'", id="another root"),
    ],
)
def test_what_is_noticed(planned: str, made: str, said: str) -> None:
    assert MADE.count(planned) == 1
    found = trouble(MADE.replace(planned, made))
    assert found is not None
    assert said in found


def test_one_mount_more() -> None:
    assert trouble(f"{MADE}\n90 67 8:1 /root /newroot/root ro - ext4 /dev/sda rw") == "'/root' shows '/root'"


def test_two_mounts_at_one_place() -> None:
    """A read-only mount over a writable one of the same thing has to be there."""
    plan = (*PLAN, Mount("ro", "/srv/project/sub", "/srv/project/sub"))
    cover = "90 79 8:2 /volume/project/sub /newroot/srv/project/sub ro - btrfs /dev/sdb rw"
    assert trouble(f"{MADE}\n{cover}", plan) is None
    assert trouble(MADE, plan) == "nothing is mounted at '/srv/project/sub'"


def test_what_comes_along_is_as_read_only_as_what_it_comes_with() -> None:
    plan = (*PLAN, Mount("ro", "/srv/project", "/srv/project"))
    cover = "90 79 8:2 /volume/project /newroot/srv/project ro - btrfs /dev/sdb rw"
    assert trouble(f"{MADE}\n{cover}", plan) is None
    only = tuple(mount for mount in plan if mount.access != "rw" and "/sub" not in mount.destination)
    left = "\n".join(line for line in MADE.splitlines() if not line.startswith(("77 ", "79 ", "80 ")))
    assert trouble(f"{left}\n{cover}", only) == "'/srv/project/data' shows '/', writable"
