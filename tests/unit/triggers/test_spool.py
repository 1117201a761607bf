"""The folder of requests and results, on a real file system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.full_disk import FullDisk

from switchboard.triggers.spool import Look, Spool, SpoolError


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "deep" / "triggers"))
    spool.prepare()
    return spool


def test_both_folders_are_made_and_may_exist(spool: Spool) -> None:
    assert os.path.isdir(spool.results)
    spool.prepare()


def test_a_relative_folder_is_taken_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Spool("triggers").folder == str(tmp_path / "triggers")


def test_a_folder_that_cannot_be_made_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match=r"cannot be made \(Not a directory\).*SWITCHBOARD_TRIGGERS_DIR"):
        Spool(str(tmp_path / "file" / "triggers")).prepare()


def test_a_link_that_leads_nowhere_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "triggers").symlink_to(tmp_path / "gone" / "deep")
    with pytest.raises(SpoolError, match="cannot be made"):
        Spool(str(tmp_path / "triggers")).prepare()


def test_a_folder_that_cannot_be_written_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)  # root may write everywhere
    with pytest.raises(SpoolError, match="cannot be read and written: change its owner or mode"):
        Spool(str(tmp_path)).prepare()


def test_a_folder_behind_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "triggers").symlink_to(tmp_path / "real")
    spool = Spool(str(tmp_path / "triggers"))
    spool.prepare()
    spool.publish("a", b"{}\n")
    assert (tmp_path / "real" / "processed" / "a.result.json").read_bytes() == b"{}\n"


def test_names_in_a_missing_folder_are_none(tmp_path: Path) -> None:
    assert list(Spool(str(tmp_path / "none")).names()) == []


def test_names(spool: Spool) -> None:
    Path(spool.folder, "a.json").write_text("")
    assert sorted(spool.names()) == ["a.json", "processed"]


def test_a_look_does_not_follow_a_link(spool: Spool) -> None:
    Path(spool.folder, "b.json").write_text("12345")
    Path(spool.folder, "a.json").symlink_to("b.json")
    assert not spool.look("a.json").regular
    look = spool.look("b.json")
    assert (look.regular, look.size, look.links) == (True, 5, 1)


def accept(_look: Look) -> None:
    return None


def test_reading_never_follows_a_link(spool: Spool) -> None:
    Path(spool.folder, "b.json").write_text("12345")
    Path(spool.folder, "a.json").symlink_to("b.json")
    with pytest.raises(OSError, match="symbolic links"):
        spool.read("a.json", accept)


def test_reading_a_pipe_does_not_wait(spool: Spool) -> None:
    os.mkfifo(Path(spool.folder, "a.json"))
    look, found = spool.read("a.json", lambda look: "no file" if not look.regular else None)
    assert (look.regular, found) == (False, "no file")


def test_reading_stops_one_byte_after_the_limit(spool: Spool) -> None:
    Path(spool.folder, "a.json").write_bytes(b"x" * 200_000)
    assert len(spool.read("a.json", accept)[1]) == 65_537


def test_a_result_takes_the_place_of_an_older_one(spool: Spool) -> None:
    spool.publish("a", b"one\n")
    spool.publish("a", b"two\n")
    assert Path(spool.results, "a.result.json").read_bytes() == b"two\n"
    assert os.listdir(spool.results) == ["a.result.json"]


def test_a_result_is_never_written_through_a_link_that_waits_for_it(spool: Spool, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    Path(spool.results, "a.result.json.tmp").symlink_to(victim)
    spool.publish("a", b"{}\n")
    assert victim.read_text() == "precious"
    assert Path(spool.results, "a.result.json").read_bytes() == b"{}\n"


def test_a_results_folder_that_was_removed_is_made_again(spool: Spool) -> None:
    os.rmdir(spool.results)
    spool.publish("a", b"{}\n")
    assert Path(spool.results, "a.result.json").exists()


def test_publishing_fails_where_a_folder_has_the_results_place(spool: Spool) -> None:
    Path(spool.results, "a.result.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        spool.publish("a", b"{}\n")


@pytest.mark.parametrize("takes", [0, 2], ids=["nothing", "half of it"])
def test_a_full_disk_leaves_no_half_result(spool: Spool, monkeypatch: pytest.MonkeyPatch, takes: int) -> None:
    spool.publish("a", b"one\n")
    disk = FullDisk(Path(spool.results), monkeypatch)
    disk.full, disk.takes = True, takes
    with pytest.raises(OSError, match="No space left"):
        spool.publish("a", b"two\n")
    assert os.listdir(spool.results) == ["a.result.json"]
    assert Path(spool.results, "a.result.json").read_bytes() == b"one\n"


def test_a_rename_that_fails_leaves_no_half_result(spool: Spool) -> None:
    Path(spool.results, "a.result.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        spool.publish("a", b"{}\n")
    assert os.listdir(spool.results) == ["a.result.json"]


def test_removing(spool: Spool) -> None:
    Path(spool.folder, "a.json").write_text("")
    spool.remove("a.json")
    spool.remove("a.json")
    assert not Path(spool.folder, "a.json").exists()


def test_a_folder_cannot_be_removed_as_a_request(spool: Spool) -> None:
    Path(spool.folder, "a.json").mkdir()
    with pytest.raises(OSError, match=r"directory|permitted"):
        spool.remove("a.json")


def test_only_the_file_that_was_answered_is_removed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    request = tmp_path / "a.json"
    request.write_text("first")
    answered = spool.identity("a.json")
    (tmp_path / "b").write_text("second")
    (tmp_path / "b").rename(request)
    assert spool.remove("a.json", answered) is False
    assert request.read_text() == "second"
    assert spool.remove("a.json", spool.identity("a.json")) is True
    assert not request.exists()
    assert spool.remove("a.json", answered) is True
