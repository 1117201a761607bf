"""Reading the kernel's table of mounts."""

from __future__ import annotations

import pytest

from switchboard.sandbox.host_mounts import HostMounts

TABLE = r"""
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:5 / /proc rw - proc proc rw
30 20 8:2 / /mnt/disk rw - ext4 /dev/sdb1 rw
31 20 8:2 /projects /home/me/my\040projects rw master:2 - ext4 /dev/sdb1 rw
32 20 8:1 /home/me/data /srv/data rw - ext4 /dev/sda1 rw
33 31 8:1 /var/cache /home/me/my\040projects/cache rw - ext4 /dev/sda1 rw
34 32 8:3 / /srv/data/inner rw - ext4 /dev/sdc1 rw
35 20 8:3 /part /mnt/part rw - ext4 /dev/sdc1 rw
""".lstrip()


@pytest.mark.parametrize(
    ("path", "others"),
    [
        ("/home/me/data", ["/srv/data"]),
        ("/home/me/data/a b/c", ["/srv/data/a b/c"]),
        ("/srv/data/x", ["/home/me/data/x"]),
        ("/home/me", []),
        ("/home/me/data-2", []),
        ("/home/me/my projects/p", ["/mnt/disk/projects/p"]),
        ("/mnt/disk/projects", ["/home/me/my projects"]),
        ("/mnt/disk", []),
        ("/home/me/my projects/cache/x", ["/var/cache/x"]),
        ("/var/cache", ["/home/me/my projects/cache"]),
        ("/srv/data/inner/part/x", ["/mnt/part/x"]),
        ("/proc/1", []),
    ],
)
def test_other_paths_of_the_same_thing(path: str, others: list[str]) -> None:
    assert HostMounts(TABLE).same(path) == others


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/home", [("/home/me/data", "/srv/data"), ("/home/me/my projects/cache", "/var/cache")]),
        ("/home/me/data", []),
        ("/mnt/disk", [("/mnt/disk/projects", "/home/me/my projects")]),
        ("/srv/data", [("/srv/data/inner/part", "/mnt/part")]),
        ("/var", [("/var/cache", "/home/me/my projects/cache")]),
    ],
)
def test_parts_that_are_shown_elsewhere(path: str, parts: list[tuple[str, str]]) -> None:
    assert set(parts) <= set(HostMounts(TABLE).parts(path))


def test_a_mount_on_top_of_another_decides() -> None:
    table = HostMounts("1 0 8:1 / / rw\n2 1 8:2 / /m rw\n3 2 8:3 /a /m rw\n4 1 8:3 / /all rw\n5 1 8:2 / /two rw\n")
    assert table.same("/m/x") == ["/all/a/x"]
    assert table.same("/two/x") == ["/m/x"]  # whoever uses it looks whether that is still so


def test_an_empty_table_says_nothing() -> None:
    assert HostMounts("").same("/a") == []
    assert list(HostMounts("").parts("/a")) == []


@pytest.mark.parametrize("text", ["nonsense\n", "1 0 8:1 /\n", "x 0 8:1 / / rw\n"])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        HostMounts(text)


def test_this_machine_has_one() -> None:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        HostMounts(file.read()).same("/")
