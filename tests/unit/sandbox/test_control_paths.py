"""Where control directories lie, under all their names."""

from __future__ import annotations

from tests.support.host_tree import HostTree

from switchboard.sandbox.control_paths import ControlPaths, Region, forms, names_of, survey


def host() -> HostTree:
    made = HostTree()
    made.make_directory("/data/run")
    made.make_directory("/disk/t/sub")
    made.make_directory("/results")
    made.make_link("/data/triggers", "/disk/t")
    made.make_link("/disk/t/processed", "/results")
    return made


CONTROL = ControlPaths("/data/triggers", ("/data", "/data/run"))


def test_regions_ways_and_links() -> None:
    found = survey(CONTROL, host())
    assert found.regions == [
        Region("/data", "tmpfs", "/data", "/data"),
        Region("/data/run", "tmpfs", "/data/run", "/data/run"),
        Region("/disk/t", "ro", "/data/triggers", "/disk/t"),
        Region("/results", "ro", "/data/triggers/processed", "/results"),
    ]
    assert set(found.ways) == {"/data", "/data/run", "/disk", "/disk/t", "/results"}
    assert found.links == {"/data/triggers": "/data/triggers", "/disk/t/processed": "/data/triggers/processed"}


def test_the_innermost_region_holds_a_path_and_at_one_place_the_hidden_one() -> None:
    machine = host()
    found = survey(ControlPaths("/disk/t", ("/disk", "/disk/t/sub", "/disk/t/sub")), machine)
    assert [
        getattr(found.region_at(path), "access", None) for path in ("/disk/x", "/disk/t/x", "/disk/t/sub/x", "/x")
    ] == [*("tmpfs", "ro", "tmpfs", None)]
    twice = survey(ControlPaths("/data", ("/data",)), machine).region_at("/data")
    assert twice is not None
    assert twice.access == "tmpfs"


def test_what_a_mount_shows() -> None:
    found = survey(CONTROL, host())
    for source in ("/", "/disk", "/disk/t/sub", "/data/run", "/results"):
        assert found.touched_by(source)
    for source in ("/usr", "/disk/other", "/data-2"):
        assert not found.touched_by(source)


def test_a_missing_directory_is_a_region_that_does_not_exist() -> None:
    found = survey(ControlPaths("/disk/none/t", ()), host())
    assert found.regions[0] == Region("/disk/none/t", "ro", "/disk/none/t", "/disk")
    assert not found.regions[0].exists
    assert found.region_at("/disk/none/t") is None


def test_a_missing_directory_has_other_names_as_well() -> None:
    machine = host()
    machine.mount_again("/disk", "/again")
    found = survey(ControlPaths("/disk/none/t", ()), machine)
    assert Region("/again/none/t", "ro", "/disk/none/t", "/again") in found.regions


def test_ways_and_links_have_other_names_as_well() -> None:
    machine = host()
    machine.mount_again("/disk", "/again")
    machine.mount_again("/data", "/other")
    found = survey(CONTROL, machine)
    assert {"/again", "/again/t", "/other"} <= set(found.ways)
    assert {"/other/triggers", "/again/t/processed"} <= set(found.links)


def test_forms_of_a_path() -> None:
    assert forms("/a/b") == ["/a/b"]
    assert forms("/a/../b/") == ["/a/../b/", "/b"]


def test_names_that_can_be_compared() -> None:
    assert list(names_of(ControlPaths("/t/", ("/d\n",)))) == [
        ("/t/", "/t/"),
        ("/t/", "/t"),
        ("/t//processed", "/t//processed"),
        ("/t//processed", "/t/processed"),
    ]
