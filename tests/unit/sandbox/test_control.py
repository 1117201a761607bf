"""The protection of control directories, sentence by sentence, on made-up machines."""

from __future__ import annotations

import errno

import pytest
from tests.support.host_tree import HostTree

from switchboard.sandbox.control import ControlPaths, protect_control, refuse_binds
from switchboard.sandbox.mounts import Mount, Refusal, ordered, view

DATA = "/home/me/.switchboard"
TRIGGERS = f"{DATA}/triggers"
CONTROL = ControlPaths(TRIGGERS, (DATA, f"{DATA}/run"))


def machine(*directories: str, links: dict[str, str] | None = None, files: tuple[str, ...] = ()) -> HostTree:
    """A host with the default control directories, and what else is named."""
    host = HostTree()
    for path in (f"{TRIGGERS}/processed", f"{DATA}/run", "/srv/project/src", *directories):
        host.make_directory(path)
    for path, target in (links or {}).items():
        host.make_link(path, target)
    for path in files:
        host.make_file(path)
    return host


def rw(path: str, source: str | None = None) -> Mount:
    return Mount("rw", path, source or path)


def ro(path: str, source: str | None = None) -> Mount:
    return Mount("ro", path, source or path)


def only(triggers: str, *hidden: str, own: str | None = None) -> ControlPaths:
    return ControlPaths(triggers, hidden, own)


def shown(mounts: list[Mount]) -> set[tuple[str, str, str | None]]:
    return {(mount.access, mount.destination, mount.source) for mount in mounts}


def refusal(mounts: list[Mount], control: ControlPaths, host: HostTree) -> str:
    with pytest.raises(Refusal) as caught:
        protect_control(mounts, control, host)
    text = str(caught.value)
    assert text.startswith("cannot protect the control directory ")
    assert text.isprintable()
    return text


# --- where it is shown ----------------------------------------------------------------------------------------------


def test_a_control_root_outside_all_mounts_stays_unexposed() -> None:
    assert protect_control([rw("/srv/project"), ro("/usr")], CONTROL, machine("/usr")) == []


@pytest.mark.parametrize("root", ["/srv/project", "/srv/worktree", "/extra dir/ü", "/srv/a/b"])
def test_the_whole_tree_is_read_only_below_any_writable_mount(root: str) -> None:
    host = machine(f"{root}/control/triggers/processed")
    control = only(f"{root}/control/triggers")
    extra = protect_control([rw(root)], control, host)
    assert shown(extra) == {
        ("rw", f"{root}/control", f"{root}/control"),
        ("ro", f"{root}/control/triggers", f"{root}/control/triggers"),
        ("ro", f"{root}/control/triggers/processed", f"{root}/control/triggers/processed"),
    }


def test_every_directory_between_the_mount_and_the_control_root_is_pinned_and_before_it() -> None:
    host = machine("/srv/project/a/b c/d/triggers/processed")
    extra = ordered(protect_control([rw("/srv/project")], only("/srv/project/a/b c/d/triggers"), host))
    kinds = [(mount.access, mount.destination) for mount in extra]
    assert kinds[:4] == [
        ("rw", "/srv/project/a"),
        ("rw", "/srv/project/a/b c"),
        ("rw", "/srv/project/a/b c/d"),
        ("ro", "/srv/project/a/b c/d/triggers"),
    ]


def test_every_alias_of_overlapping_mounts_is_protected() -> None:
    host = machine("/srv/project/in/triggers/processed")
    mounts = [rw("/srv/project"), rw("/srv"), rw("/view", "/srv/project/in"), ro("/look", "/srv")]
    extra = protect_control(mounts, only("/srv/project/in/triggers"), host)
    for alias in ("/srv/project/in/triggers", "/view/triggers", "/look/project/in/triggers"):
        assert view(ordered([*mounts, *extra]), f"{alias}/a.json").access == "ro"
    assert ("rw", "/srv/project/in", "/srv/project/in") in shown(extra)
    assert not any(mount.destination == "/srv/project" for mount in extra)  # it is a mount already


def test_a_root_that_is_bound_by_a_stable_link_is_protected_by_that_name_too() -> None:
    host = machine("/disk/p/triggers/processed", links={"/home/me/p": "/disk/p"})
    extra = protect_control([rw("/home/me/p"), rw("/disk/p")], only("/home/me/p/triggers"), host)
    assert {mount.destination for mount in extra if mount.access == "ro"} == {
        *("/home/me/p/triggers", "/home/me/p/triggers/processed"),
        *("/disk/p/triggers", "/disk/p/triggers/processed"),
    }


def test_state_of_the_cli_counts_like_a_project() -> None:
    host = machine("/home/me/.config/claude/triggers/processed")
    extra = protect_control([rw("/home/me/.config/claude")], only("/home/me/.config/claude/triggers"), host)
    assert ("ro", "/home/me/.config/claude/triggers", "/home/me/.config/claude/triggers") in shown(extra)


@pytest.mark.parametrize(
    ("mount", "closed"),
    [
        (rw("/in", "/srv/project/triggers"), "/in"),
        (rw("/in", "/srv/project/triggers/processed"), "/in"),
        (rw("/srv/project/triggers/sub"), "/srv/project/triggers/sub"),
        (rw("/state", "/srv/link"), "/state"),
    ],
    ids=["the root itself", "processed", "deeper in it", "through a link"],
)
def test_a_mount_of_a_part_of_the_tree_is_closed(mount: Mount, closed: str) -> None:
    host = machine(
        *("/srv/project/triggers/processed", "/srv/project/triggers/sub"),
        links={"/srv/link": "/srv/project/triggers/sub"},
    )
    extra = protect_control([rw("/srv/project"), mount], only("/srv/project/triggers"), host)
    assert view(ordered([rw("/srv/project"), mount, *extra]), f"{closed}/x").access == "ro"


def test_of_two_mounts_at_one_depth_and_place_the_protection_counts() -> None:
    host = machine("/srv/project/triggers/processed")
    mounts = [ro("/srv/project/triggers"), rw("/srv/project"), rw("/srv/project/triggers")]
    extra = protect_control(mounts, only("/srv/project/triggers"), host)
    assert view(ordered([*mounts, *extra]), "/srv/project/triggers").access == "ro"


# --- processed ------------------------------------------------------------------------------------------------------


def test_processed_that_leads_elsewhere_is_protected_there() -> None:
    host = machine(
        *("/srv/project/triggers", "/extra/deep/results"),
        links={"/srv/project/triggers/processed": "/extra/deep/results"},
    )
    extra = protect_control([rw("/srv/project"), rw("/extra")], only("/srv/project/triggers"), host)
    assert shown(extra) == {
        ("ro", "/srv/project/triggers", "/srv/project/triggers"),
        ("rw", "/extra/deep", "/extra/deep"),
        ("ro", "/extra/deep/results", "/extra/deep/results"),
    }


def test_processed_that_leads_elsewhere_through_a_link_the_sandbox_can_replace_is_refused() -> None:
    host = machine(
        *("/triggers", "/results"),
        links={"/triggers/processed": "/srv/project/link", "/srv/project/link": "/results"},
    )
    text = refusal([rw("/srv/project")], only("/triggers"), host)
    assert "'/triggers/processed'" in text
    assert "'/srv/project/link' is a symbolic link in a directory the sandbox can write" in text


def test_processed_may_be_missing_in_a_protected_root() -> None:
    host = machine("/srv/project/triggers")
    extra = protect_control([rw("/srv/project")], only("/srv/project/triggers"), host)
    assert shown(extra) == {("ro", "/srv/project/triggers", "/srv/project/triggers")}


def test_processed_that_leads_nowhere_yet_is_refused_where_the_sandbox_could_make_it() -> None:
    host = machine("/triggers", links={"/triggers/processed": "/srv/project/results"})
    assert "'/triggers/processed'" in refusal([rw("/srv/project")], only("/triggers"), host)
    assert protect_control([rw("/srv/project/src")], only("/triggers"), host) == []


# --- the way there --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "links",
    [
        {"/srv/project/t": "/elsewhere"},
        {"/srv/project/t": "other", "/srv/project/other": "/elsewhere"},
        {"/srv/project/t": "../../srv/project/other", "/srv/project/other": "/elsewhere"},
    ],
    ids=["one link", "a chain", "a chain with dots"],
)
def test_a_link_that_the_sandbox_can_replace_is_refused(links: dict[str, str]) -> None:
    host = machine("/elsewhere/triggers/processed", links=links)
    text = refusal([rw("/srv/project")], only("/srv/project/t/triggers"), host)
    assert "'/srv/project/t/triggers'" in text
    assert "is a symbolic link in a directory the sandbox can write" in text


def test_a_link_in_a_directory_the_sandbox_cannot_write_is_followed() -> None:
    host = machine("/srv/project/triggers/processed", links={"/etc/t": "/srv/project/triggers"})
    extra = protect_control([rw("/srv/project"), ro("/etc")], only("/etc/t"), host)
    assert ("ro", "/srv/project/triggers", "/srv/project/triggers") in shown(extra)


def test_a_directory_that_is_only_passed_on_the_way_is_pinned_too() -> None:
    """Replaced by a link, it would lead the host's path elsewhere, although the end does not lie in it."""
    host = machine("/srv/project/x", "/srv/triggers/processed", links={"/etc/t": "/srv/project/x/../../triggers"})
    extra = protect_control([rw("/srv/project")], only("/etc/t"), host)
    assert shown(extra) == {("rw", "/srv/project/x", "/srv/project/x")}


def test_a_path_with_dots_is_judged_as_written_and_as_its_text_reads() -> None:
    host = machine("/a/b/triggers/processed", "/c/triggers/processed", links={"/c/link": "/a/b/x"})
    host.make_directory("/a/b/x")
    extra = protect_control([rw("/a"), rw("/c/triggers")], only("/c/link/../triggers"), host)
    assert ("ro", "/a/b/triggers", "/a/b/triggers") in shown(extra)
    assert ("ro", "/c/triggers", "/c/triggers") in shown(extra)


def test_the_way_is_pinned_even_where_the_end_is_covered_by_something_else() -> None:
    host = machine("/srv/project/a/triggers/processed", "/other")
    mounts = [rw("/srv/project"), rw("/srv/project/a/triggers", "/other")]
    extra = protect_control(mounts, only("/srv/project/a/triggers"), host)
    assert shown(extra) == {("rw", "/srv/project/a", "/srv/project/a")}


# --- what cannot be protected ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/srv/project/triggers", "/srv/project/a/b/triggers"])
def test_a_missing_root_below_a_writable_mount_is_refused(path: str) -> None:
    assert f"'{path}': it does not exist" in refusal([rw("/srv/project")], only(path), machine())


@pytest.mark.parametrize("mount", [ro("/srv/project"), rw("/srv/project/src")], ids=["read-only", "elsewhere"])
def test_a_missing_root_anywhere_else_is_nothing_to_protect(mount: Mount) -> None:
    assert protect_control([mount], only("/srv/project/triggers"), machine()) == []


def test_a_missing_root_in_a_hidden_directory_is_a_mistake_as_anywhere_else() -> None:
    host = machine("/srv/project/data")
    control = only("/srv/project/data/triggers", "/srv/project/data")
    assert "'/srv/project/data/triggers': it does not exist" in refusal([rw("/srv/project")], control, host)


def test_a_missing_root_in_a_directory_that_is_still_to_be_made_is_refused() -> None:
    assert "does not exist" in refusal([rw("/srv/new")], only("/srv/new/triggers"), machine())


@pytest.mark.parametrize(
    ("path", "links", "why"),
    [
        ("/loop/t", {"/loop": "/loop2", "/loop2": "/loop"}, "too many levels of symbolic links"),
        ("/srv/file/t", {}, "is not a directory"),
        ("/srv/file", {}, "is not a directory"),
        ("/locked/in/t", {}, "cannot be read"),
        ("/srv/a\nb", {}, "contains a newline"),
        ("/srv/a\0b", {}, "contains a NUL"),
        ("/srv/\ud800", {}, "no file can have that name"),
        ("/link", {"/link": "/srv/a\nb"}, "contains a newline"),
        ("relative/t", {}, "not absolute"),
        ("/", {}, "root of the file system"),
        ("/srv/none/../t", {}, "goes back through it"),
    ],
    ids=[
        *("loop of links", "below a file", "a file", "unreadable", "newline", "NUL", "no name"),
        *("newline behind a link", "relative", "root", "dots through nothing"),
    ],
)
def test_a_path_that_cannot_be_followed_is_refused(path: str, links: dict[str, str], why: str) -> None:
    host = machine("/locked/in", links=links, files=("/srv/file",))
    host.lock("/locked")
    assert why in refusal([rw("/srv/project")], only(path), host)
    assert why in refusal([rw("/srv/project")], only(TRIGGERS, path), host)
    with pytest.raises(Refusal, match=why):
        refuse_binds(["/srv/project"], only(path), host)


@pytest.mark.parametrize(("count", "works"), [(40, True), (41, False)])
def test_forty_links_are_followed(count: int, works: bool) -> None:
    links = {f"/l{number}": f"/l{number + 1}" for number in range(1, count)} | {f"/l{count}": "/srv/project/t"}
    host = machine("/srv/project/t/processed", links=links)
    if works:
        assert protect_control([rw("/srv/project")], only("/l1"), host)
    else:
        assert "too many levels" in refusal([rw("/srv/project")], only("/l1"), host)


@pytest.mark.parametrize("access", ["rw", "tmpfs", "symlink", "file", "dir"])
def test_a_mount_on_top_of_the_tree_is_refused(access: str) -> None:
    host = machine("/srv/project/triggers/processed", "/other")
    mount = Mount(access, "/srv/project/triggers/sub", "/other")  # type: ignore[arg-type]  # one of its kinds
    text = refusal([rw("/srv/project"), mount], only("/srv/project/triggers"), host)
    assert "'/srv/project/triggers/sub' lies on top of it" in text


@pytest.mark.parametrize("access", ["symlink", "file", "dir"])
def test_what_is_made_in_a_writable_mount_covers_nothing(access: str) -> None:
    host = machine("/srv/project/a/triggers/processed")
    made = Mount(access, "/srv/project/a", "/other")  # type: ignore[arg-type]  # one of its kinds
    mounts = [rw("/srv/project"), made]
    if access == "symlink":
        refusal([*mounts, rw("/srv/project/a/x", "/srv/project")], only("/srv/project/a/triggers"), host)
    extra = protect_control(mounts, only("/srv/project/a/triggers"), host)
    assert ("ro", "/srv/project/a/triggers", "/srv/project/a/triggers") in shown(extra)


def test_a_mount_that_ends_up_behind_a_link_is_refused() -> None:
    host = machine("/srv/project/t/processed", "/other/dir", links={"/other/link": "dir"})
    mounts = [rw("/other"), rw("/other/link", "/srv/project")]
    assert "passes through the symbolic link '/other/link'" in refusal(mounts, only("/srv/project/t"), host)
    assert protect_control([rw("/other"), rw("/other/link", "/srv/project/src")], only("/srv/project/t"), host) == []


@pytest.mark.parametrize(
    "mount",
    [rw("/srv/project/"), rw("/srv//project"), rw("project"), Mount("rw", "/x", "project"), rw("/x", "/loop")],
    ids=["slash at the end", "two slashes", "relative", "relative source", "source that leads nowhere"],
)
def test_a_mount_that_says_nothing_certain_is_refused(mount: Mount) -> None:
    assert TRIGGERS in refusal([mount], CONTROL, machine(links={"/loop": "/loop"}))


def test_a_newline_in_a_place_where_it_would_be_shown_is_refused() -> None:
    host = machine("/srv/project/t/processed")
    assert "contains a newline" in refusal([rw("/view\n", "/srv/project")], only("/srv/project/t"), host)


# --- what must not be seen ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mount", [rw("/home/me"), ro("/home/me")], ids=["writable", "read-only"])
def test_the_data_directory_is_empty_and_the_triggers_in_it_read_only(mount: Mount) -> None:
    extra = protect_control([mount], CONTROL, machine())
    mounts = ordered([mount, *extra])
    assert view(mounts, DATA).access == "tmpfs"
    assert view(mounts, f"{DATA}/run/host.sock").host is None
    assert view(mounts, f"{TRIGGERS}/a.json") == view([ro("/home/me")], f"{TRIGGERS}/a.json")


def test_hidden_directories_elsewhere_are_hidden_at_every_alias_and_the_way_is_pinned() -> None:
    host = machine("/srv/project/deep/run", "/srv/project/deep/data")
    control = only(TRIGGERS, "/srv/project/deep/data", "/srv/project/deep/run")
    extra = protect_control([rw("/srv/project"), ro("/look", "/srv")], control, host)
    assert shown(extra) == {
        ("rw", "/srv/project/deep", "/srv/project/deep"),
        *(
            ("tmpfs", f"{root}/deep/{name}", None)
            for root in ("/srv/project", "/look/project")
            for name in ("data", "run")
        ),
    }


def test_a_mount_of_a_part_of_a_hidden_directory_is_hidden() -> None:
    host = machine(f"{DATA}/logs", files=(f"{DATA}/switchboard.db",))
    mounts = [ro("/logs", f"{DATA}/logs"), rw("/db", f"{DATA}/switchboard.db"), ro("/all", DATA)]
    extra = protect_control(mounts, CONTROL, host)
    assert {("tmpfs", "/logs", None), ("ro", "/db", "/dev/null"), ("tmpfs", "/all", None)} <= shown(extra)


def test_a_socket_folder_in_the_triggers_is_hidden_on_top_of_them() -> None:
    host = machine("/srv/project/t/run")
    extra = protect_control([rw("/srv/project")], only("/srv/project/t", "/srv/project/t/run"), host)
    mounts = ordered([rw("/srv/project"), *extra])
    assert view(mounts, "/srv/project/t/a.json").access == "ro"
    assert view(mounts, "/srv/project/t/run/host.sock").host is None


def test_triggers_that_are_the_data_directory_are_hidden() -> None:
    host = machine("/srv/project/t/processed")
    extra = protect_control([rw("/srv/project")], only("/srv/project/t", "/srv/project/t"), host)
    assert view(ordered([rw("/srv/project"), *extra]), "/srv/project/t").access == "tmpfs"


@pytest.mark.parametrize("mount", [rw("/srv/project"), ro("/srv/project")], ids=["writable", "read-only"])
def test_a_missing_hidden_directory_is_refused_where_it_would_be_seen(mount: Mount) -> None:
    assert "'/srv/project/run': it does not exist" in refusal([mount], only(TRIGGERS, "/srv/project/run"), machine())


def test_a_missing_socket_folder_in_the_triggers_is_refused_where_they_are_seen() -> None:
    host = machine("/srv/project/t/processed")
    control = only("/srv/project/t", "/srv/project/t/run")
    assert "'/srv/project/t/run': it does not exist" in refusal([ro("/srv/project")], control, host)


def test_a_missing_hidden_directory_in_another_one_is_as_hidden() -> None:
    host = machine("/srv/project/data")
    control = only(TRIGGERS, "/srv/project/data", "/srv/project/data/run")
    assert shown(protect_control([rw("/srv/project")], control, host)) == {("tmpfs", "/srv/project/data", None)}


OWN = f"{DATA}/sandboxes/1/sessions"
GIVEN = rw("/home/me/.claude/sessions", OWN)


def test_the_folder_of_this_launch_stays_and_shows_nothing_else() -> None:
    host = machine(OWN, f"{DATA}/sandboxes/2/sessions")
    control = only(TRIGGERS, DATA, own=OWN)
    assert protect_control([GIVEN], control, host) == []
    mounts = [rw("/home/me"), GIVEN, rw("/other", f"{DATA}/sandboxes/2/sessions"), rw("/above", f"{DATA}/sandboxes/1")]
    mounts = ordered([*mounts, *protect_control(mounts, control, host)])
    assert view(mounts, "/home/me/.claude/sessions/2.json") == view([GIVEN], "/home/me/.claude/sessions/2.json")
    for path in (DATA, OWN, "/other/2.json", "/above/sessions"):
        assert view(mounts, path).host is None


@pytest.mark.parametrize(
    ("own", "mounts"),
    [
        ("/srv/project", []),
        (DATA, []),
        (f"{TRIGGERS}/own", []),
        ("/home/me", []),
        (f"{DATA}/sandboxes", []),
        (f"{DATA}/run", []),
    ],
    ids=["elsewhere", "all of it", "in the triggers", "around it", "around another one", "the sockets"],
)
def test_a_folder_of_a_launch_that_is_more_than_that_is_refused(own: str, mounts: list[Mount]) -> None:
    host = machine(f"{DATA}/sandboxes/hidden", f"{TRIGGERS}/own")
    control = only(TRIGGERS, DATA, f"{DATA}/run", f"{DATA}/sandboxes/hidden", own=own)
    refusal([*mounts, rw("/sessions", own)], control, host)


# --- one directory under two paths of the host ----------------------------------------------------------------------


def test_a_directory_that_is_mounted_twice_is_protected_under_both_paths() -> None:
    host = machine("/disk/a/triggers/processed", "/srv/project")
    host.mount_again("/disk/a", "/srv/project/sub dir/a")
    extra = protect_control([rw("/srv/project")], only("/disk/a/triggers"), host)
    assert ("ro", "/srv/project/sub dir/a/triggers", "/srv/project/sub dir/a/triggers") in shown(extra)


def test_a_part_of_the_tree_that_is_mounted_elsewhere_is_protected_there() -> None:
    host = machine(f"{DATA}/logs")
    host.mount_again(f"{TRIGGERS}/processed", "/srv/project/results")
    host.mount_again(f"{DATA}/logs", "/srv/project/logs")
    extra = protect_control([rw("/srv/project")], CONTROL, host)
    assert shown(extra) == {
        ("ro", "/srv/project/results", "/srv/project/results"),
        ("tmpfs", "/srv/project/logs", None),
    }


def test_a_disk_that_holds_the_tree_is_seen_under_its_own_path() -> None:
    host = machine()
    host.mount_disk("/mnt/disk")
    host.make_directory("/mnt/disk/switchboard/triggers/processed")
    host.mount_again("/mnt/disk/switchboard", "/srv/switchboard")
    extra = protect_control([rw("/mnt/disk")], only("/srv/switchboard/triggers", "/srv/switchboard"), host)
    assert view(ordered([rw("/mnt/disk"), *extra]), "/mnt/disk/switchboard/x").access == "tmpfs"
    assert view(ordered([rw("/mnt/disk"), *extra]), "/mnt/disk/switchboard/triggers/x").access == "ro"


class WithoutTable(HostTree):
    """Where the table of mounts shows nothing, such as for two spellings on a file system that ignores case."""

    def mountinfo(self) -> str:
        return ""


def test_a_bound_directory_that_is_one_on_the_way_by_another_name_is_recognised() -> None:
    host = WithoutTable()
    host.make_directory("/disk/Project/in/triggers/processed")
    host.mount_again("/disk/Project", "/disk/project")
    extra = protect_control([rw("/disk/project")], only("/disk/Project/in/triggers"), host)
    assert ("ro", "/disk/project/in/triggers", "/disk/project/in/triggers") in shown(extra)
    assert ("rw", "/disk/project/in", "/disk/project/in") in shown(extra)
    with pytest.raises(Refusal):
        refuse_binds(["/disk/project/in/triggers/processed"], only("/disk/Project/in/triggers"), host)


class Broken(HostTree):
    def mountinfo(self) -> str:
        raise OSError(errno.EACCES, "no")


class Nonsense(HostTree):
    def mountinfo(self) -> str:
        return "nonsense\n"


@pytest.mark.parametrize("kind", [Broken, Nonsense])
def test_without_the_table_of_mounts_nothing_is_certain(kind: type[HostTree]) -> None:
    host = kind()
    host.make_directory("/t/processed")
    assert "table of mounts" in refusal([], only("/t"), host)


# --- directories that are asked for ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (TRIGGERS, TRIGGERS),
        (f"{TRIGGERS}/processed", TRIGGERS),
        (f"{TRIGGERS}/new/deep", TRIGGERS),
        (f"{DATA}/run/../triggers", TRIGGERS),
        (DATA, DATA),
        (f"{DATA}/sandboxes", DATA),
        ("/srv/link", TRIGGERS),
        ("/srv/link/processed", TRIGGERS),
        ("/srv/again/x", TRIGGERS),
        ("/results", f"{TRIGGERS}/processed"),
    ],
)
def test_a_directory_at_or_below_a_control_path_is_refused(path: str, named: str) -> None:
    host = machine("/results", links={"/srv/link": TRIGGERS})
    host.mount_again(TRIGGERS, "/srv/again")
    if path == "/results":
        host.mount_again(f"{TRIGGERS}/processed", "/results")
    with pytest.raises(Refusal, match="refusing to bind") as caught:
        refuse_binds(["/srv/project", path], CONTROL, host)
    assert f"'{path}'" in str(caught.value)
    assert named in str(caught.value)


def test_a_directory_reached_by_the_control_path_as_it_is_written_is_refused() -> None:
    host = machine("/disk/t/processed/sub", links={"/link": "/disk"})
    for path in ("/link/t", "/link/t/processed/sub", "/disk/t/processed"):
        with pytest.raises(Refusal, match="refusing to bind"):
            refuse_binds([path], only("/link/t"), host)


def test_a_directory_that_only_reads_as_if_it_lay_in_a_control_directory_is_refused() -> None:
    with pytest.raises(Refusal, match="refusing to bind"):
        refuse_binds([f"{TRIGGERS}/out"], CONTROL, machine(links={f"{TRIGGERS}/out": "/srv/project"}))


def test_a_directory_that_would_be_a_control_directory_once_that_exists_is_refused() -> None:
    with pytest.raises(Refusal, match="refusing to bind"):
        refuse_binds(["/link/t/x"], only("/srv/project/t"), machine(links={"/link": "/srv/project"}))


@pytest.mark.parametrize("path", ["/home/me", "/srv", "/srv/project", "/srv/missing", f"{DATA}-2", "/"])
def test_any_other_directory_may_be_bound(path: str) -> None:
    refuse_binds([path], CONTROL, machine(f"{DATA}-2"))


def test_a_directory_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(Refusal, match="too many levels"):
        refuse_binds(["/loop"], CONTROL, machine(links={"/loop": "/loop"}))
