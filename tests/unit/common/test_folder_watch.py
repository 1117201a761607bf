"""What every folder watcher must do, whatever it is made of: one suite, three watchers."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.leaks import descriptors
from tests.support.watching import PATIENCE_SECONDS, Copy, Recorder, contents

from switchboard.common.folder_watch import FolderEvent, FolderWatcher, Rescan, open_folder_watcher
from switchboard.common.inotify import InotifyWatcher
from switchboard.common.portable_watch import PortableWatcher, TimerPulses, WatchfilesPulses

NOBODY = 65534

MAKERS: dict[str, Callable[[], FolderWatcher]] = {
    "inotify": InotifyWatcher,
    "watchfiles": lambda: PortableWatcher(WatchfilesPulses(step_ms=5)),
    "timer": lambda: PortableWatcher(TimerPulses(0.01)),
}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS.keys())
async def watcher(request: pytest.FixtureRequest) -> AsyncIterator[FolderWatcher]:
    before = descriptors()
    made = request.param()
    yield made
    await close(made, before)


async def close(watcher: FolderWatcher, before: set[tuple[int, str]]) -> None:
    """Close, and wait for what a library closes a moment after it says so (a thread of its own has descriptors)."""
    await watcher.aclose()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while descriptors() - before:
            await asyncio.sleep(0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "around" / "watched"
    path.mkdir(parents=True)
    return path


Begin = Callable[[], Awaitable[None]]


@pytest.fixture(params=["at once", "later"])
def begin(request: pytest.FixtureRequest, watcher: FolderWatcher, tmp_path: Path) -> Begin:
    """Called between watching and what happens then: things happen at once, or to a watcher that is known to run."""

    async def wait_until_it_runs() -> None:
        if request.param == "at once":
            return
        aside = tmp_path.resolve() / "aside"
        aside.mkdir()
        seen = Recorder()
        watcher.watch(str(aside), seen)
        for name in ("first", "second"):  # the first may be found by a look around at the start
            (aside / name).write_text("")
            await seen.until_named(name, "appeared")

    return wait_until_it_runs


async def test_a_created_file_appears(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "a.json").write_text("{}")
    await seen.until_named("a.json", "appeared")
    assert seen.of("a.json")[0] == ("appeared", "created")


async def test_a_renamed_file_is_told_from_a_created_one(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "a.tmp").write_text("{}")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "a.tmp").rename(folder / "a.json")
    await seen.until_named("a.json", "appeared")
    await seen.until_named("a.tmp", "gone")
    assert seen.of("a.json") == [("appeared", "moved")]
    assert seen.of("a.tmp") == [("gone", "moved")]


async def test_a_file_that_is_renamed_over_another_appears(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "a.json").write_text("old")
    (folder / "a.tmp").write_text("new")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "a.tmp").replace(folder / "a.json")
    await seen.until_named("a.json", "appeared")
    assert seen.of("a.json") == [("appeared", "moved")]


async def test_a_linked_file_counts_as_created(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder.parent / "outside").write_text("{}")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    os.link(folder.parent / "outside", folder / "a.json")
    await seen.until_named("a.json", "appeared")
    assert seen.of("a.json")[0] == ("appeared", "created")


async def test_a_written_file_changes(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "a.json").write_text("{")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    with (folder / "a.json").open("a") as file:
        file.write("}")
    await seen.until_named("a.json", "changed")
    assert seen.of("a.json")[0] == ("changed", "written")


async def test_a_deleted_file_is_gone(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "a.json").write_text("{}")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "a.json").unlink()
    await seen.until_named("a.json", "gone")
    assert seen.of("a.json") == [("gone", "deleted")]


async def test_links_and_folders_are_entries_too(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "sub.json").mkdir()
    (folder / "link.json").symlink_to("nowhere")
    await seen.until_named("sub.json", "appeared")
    await seen.until_named("link.json", "appeared")


@pytest.mark.parametrize("name", ["ünïcode 😀", "a\nb", "x" * 255, "\udcff", "-", ".hidden"], ids=ascii)
async def test_any_name_arrives_as_it_is(watcher: FolderWatcher, begin: Begin, folder: Path, name: str) -> None:
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / name).write_text("")
    await seen.until_named(name, "appeared")
    assert os.listdir(folder) == [name]


async def test_what_is_inside_sub_folders_is_not_told(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "processed").mkdir()
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "processed" / "inner.json").write_text("")
    (folder / "last").write_text("")
    await seen.until_named("last", "appeared")
    assert "inner.json" not in {name for name, _ in seen.names_and_kinds()}


async def test_a_quiet_start_says_nothing(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "old").write_text("")
    seen = Recorder()
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "new").write_text("")
    await seen.until_named("new", "appeared")
    assert Rescan() not in seen.seen
    assert {name for name, _ in seen.names_and_kinds()} == {"new"}


async def test_a_missing_folder_that_appears(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    seen = Recorder()
    watcher.watch(str(folder / "not" / "yet"), seen)
    await begin()
    (folder / "not" / "yet").mkdir(parents=True)
    await seen.until_rescan()
    (folder / "not" / "yet" / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_a_missing_folder_that_is_moved_into_place(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "prepared" / "yet").mkdir(parents=True)
    seen = Recorder()
    watcher.watch(str(folder / "not" / "yet"), seen)
    await begin()
    (folder / "prepared").rename(folder / "not")
    await seen.until_rescan()
    (folder / "not" / "yet" / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_a_file_where_the_folder_should_be(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "f").write_text("")
    seen = Recorder()
    watcher.watch(str(folder / "f"), seen)
    await begin()
    (folder / "f").unlink()
    (folder / "f").mkdir()
    await seen.until_rescan()
    (folder / "f" / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_a_deleted_folder_that_comes_back(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "old").write_text("")
    copy = Copy(watcher, folder)
    await begin()
    shutil.rmtree(folder)
    await copy.until(lambda: copy.files == {} and Rescan() in copy.seen)
    copy.take()
    folder.mkdir()
    await copy.until_rescan()
    (folder / "new").write_text("")
    await copy.until(lambda: "new" in copy.files)


async def test_a_folder_created_anew_where_one_was_deleted(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "a").write_text("old")
    copy = Copy(watcher, folder)
    await begin()
    shutil.rmtree(folder)  # the new folder and file get the inode numbers of these, where a file system reuses them
    folder.mkdir()
    (folder / "a").write_text("newer")
    await copy.until(lambda: copy.files == {"a": b"newer"})
    for name in ("b", "c", "d"):
        (folder / name).write_text("")
        await copy.until(lambda: name in copy.files)  # noqa: B023 - awaited within the turn of the loop


async def test_a_folder_that_is_deleted_while_somebody_stays_in_it(
    watcher: FolderWatcher, begin: Begin, folder: Path
) -> None:
    inside = os.open(folder, os.O_RDONLY)  # like a shell that stands there: the inode lives on
    try:
        seen = Recorder()
        watcher.watch(str(folder), seen)
        await begin()
        folder.rmdir()
        folder.mkdir()
        await seen.until_rescan()
        (folder / "a").write_text("")
        await seen.until_named("a", "appeared")
    finally:
        os.close(inside)


async def test_a_folder_that_is_moved_away(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "a").write_text("")
    copy = Copy(watcher, folder)
    await begin()
    folder.rename(folder.with_name("elsewhere"))
    await copy.until(lambda: copy.files == {} and Rescan() in copy.seen)
    copy.take()
    (folder.with_name("elsewhere") / "b").write_text("")
    folder.mkdir()
    await copy.until_rescan()
    (folder / "c").write_text("")
    await copy.until_named("c", "appeared")
    assert "b" not in {name for name, _ in copy.names_and_kinds()}


async def test_a_folder_that_is_replaced_by_another(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "old").write_text("")
    other = folder.with_name("other")
    other.mkdir()
    (other / "new").write_text("")
    copy = Copy(watcher, folder)
    await begin()
    folder.rename(folder.with_name("former"))
    other.rename(folder)
    await copy.until(lambda: copy.files == {"new": b""})
    (folder / "later").write_text("")
    await copy.until_named("later", "appeared")


async def test_a_folder_that_is_reached_by_a_link(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    link = folder.with_name("link")
    link.symlink_to(folder)
    seen = Recorder()
    watcher.watch(str(link), seen)
    await begin()
    (folder / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_a_link_that_is_pointed_elsewhere(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    other = folder.with_name("other")
    other.mkdir()
    (other / "there").write_text("")
    link = folder.with_name("link")
    link.symlink_to("watched")
    copy = Copy(watcher, link)
    await begin()
    (folder.with_name("next")).symlink_to("other")
    folder.with_name("next").rename(link)
    await copy.until(lambda: copy.files == {"there": b""})
    copy.take()
    (folder / "unseen").write_text("")
    (other / "a").write_text("")
    await copy.until_named("a", "appeared")
    assert "unseen" not in {name for name, _ in copy.names_and_kinds()}


async def test_a_dangling_link_that_gets_its_folder(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    link = folder.with_name("link")
    link.symlink_to("watched/deep")
    seen = Recorder()
    watcher.watch(str(link), seen)
    await begin()
    (folder / "deep").mkdir()
    await seen.until_rescan()
    (folder / "deep" / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_a_relative_path_is_taken_from_here_and_now(
    watcher: FolderWatcher, begin: Begin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    seen = Recorder()
    watcher.watch("watched", seen)
    await begin()
    monkeypatch.chdir("/")
    (folder / "a").write_text("")
    await seen.until_named("a", "appeared")


async def test_many_folders_at_once(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    seen: list[Recorder] = []
    for number in range(50):
        (folder / str(number)).mkdir()
        seen.append(Recorder())
        watcher.watch(str(folder / str(number)), seen[-1])
    await begin()
    for number in range(50):
        (folder / str(number) / f"file{number}").write_text("")
    for number, recorder in enumerate(seen):
        await recorder.until_named(f"file{number}", "appeared")
        assert {name for name, _ in recorder.names_and_kinds()} == {f"file{number}"}


async def test_several_watches_of_one_folder(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    folder.with_name("link").symlink_to(folder)
    first, second, third = Recorder(), Recorder(), Recorder()
    watch = watcher.watch(str(folder), first)
    watcher.watch(str(folder), second)
    watcher.watch(str(folder.with_name("link")), third)
    await begin()
    (folder / "a").write_text("")
    for recorder in (first, second, third):
        await recorder.until_named("a", "appeared")
    watch.close()
    (folder / "b").write_text("")
    for recorder in (second, third):
        await recorder.until_named("b", "appeared")
    assert "b" not in {name for name, _ in first.names_and_kinds()}


async def test_a_folder_and_its_parent(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    inner, outer = Recorder(), Recorder()
    watcher.watch(str(folder), inner)
    watch = watcher.watch(str(folder.parent), outer)
    await begin()
    (folder / "a").write_text("")
    (folder.parent / "b").write_text("")
    await inner.until_named("a", "appeared")
    await outer.until_named("b", "appeared")
    watch.close()
    folder.rename(folder.with_name("away"))
    await inner.until_rescan()
    assert "a" not in {name for name, _ in outer.names_and_kinds()}


async def test_nothing_is_told_after_close(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    closed, kept = Recorder(), Recorder()
    watch = watcher.watch(str(folder), closed)
    watcher.watch(str(folder), kept)
    await begin()
    (folder / "a").write_text("")
    watch.close()
    watch.close()
    (folder / "b").write_text("")
    await kept.until_named("b", "appeared")
    assert closed.seen == []


async def test_a_callback_may_close_and_watch(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    (folder / "next").mkdir()
    second = Recorder()
    first = Recorder()

    def follow(event: FolderEvent | Rescan) -> None:
        first(event)
        watch.close()
        watcher.watch(str(folder / "next"), second)

    watch = watcher.watch(str(folder), follow)
    await begin()
    (folder / "a").write_text("content")
    await first.until_named("a", "appeared")
    (folder / "next" / "b").write_text("")
    await second.until_named("b", "appeared")
    assert len(first.seen) == 1


async def test_a_failing_callback_harms_nobody_else(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail(event: FolderEvent | Rescan) -> None:
        raise ZeroDivisionError

    seen = Recorder()
    watcher.watch(str(folder), fail)
    watcher.watch(str(folder), seen)
    await begin()
    (folder / "a").write_text("")
    (folder / "b").write_text("")
    await seen.until_named("a", "appeared")
    await seen.until_named("b", "appeared")
    assert {type(context["exception"]) for context in reported} == {ZeroDivisionError}


async def test_an_unreadable_folder_is_an_error(watcher: FolderWatcher, open_to_all: Path) -> None:
    (open_to_all / "closed").mkdir(mode=0)
    with as_nobody(), pytest.raises(PermissionError):
        watcher.watch(str(open_to_all / "closed"), Recorder())
    (open_to_all / "closed").chmod(0o700)  # so that its owner can remove it


async def test_an_unreadable_ancestor_is_no_error(watcher: FolderWatcher, open_to_all: Path) -> None:
    inner = open_to_all / "passage" / "inner"
    inner.mkdir(parents=True)
    inner.chmod(0o777)
    (open_to_all / "passage").chmod(0o711)
    seen = Recorder()
    with as_nobody():
        watcher.watch(str(inner), seen)
        (inner / "a").write_text("")
        await seen.until_named("a", "appeared")


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user reaches, unlike the test's own."""
    path = Path(tempfile.mkdtemp()).resolve()
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Be somebody whom permissions bind: root reads everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_closing_twice_and_watching_afterwards(watcher: FolderWatcher, folder: Path) -> None:
    watch = watcher.watch(str(folder), Recorder())
    await watcher.aclose()
    await watcher.aclose()
    watch.close()
    with pytest.raises(ValueError, match="closed"):
        watcher.watch(str(folder), Recorder())


async def test_closing_from_a_callback(watcher: FolderWatcher, begin: Begin, folder: Path) -> None:
    closing: list[asyncio.Task[None]] = []
    seen = Recorder()

    def close(event: FolderEvent | Rescan) -> None:
        seen(event)
        closing.append(asyncio.create_task(watcher.aclose(), name="closing"))

    watcher.watch(str(folder), close)
    await begin()
    (folder / "a").write_text("content")
    await seen.until_named("a", "appeared")
    await asyncio.gather(*closing)
    (folder / "b").write_text("content")
    assert "b" not in {name for name, _ in seen.names_and_kinds()}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "append", "delete", "link", "mkdir"]), st.sampled_from("abc"), st.just("")),
        st.tuples(st.just("rename"), st.sampled_from("abct"), st.sampled_from("abct")),
        st.tuples(st.sampled_from(["rmtree", "create", "away", "back", "swap"]), st.just(""), st.just("")),
    ),
    max_size=12,
)


def perform(step: tuple[str, str, str], folder: Path, number: int) -> None:
    """Do one thing to the folder, if it can be done."""
    action, name, other = step
    away, spare = folder.with_name("away"), folder.with_name("spare")
    try:
        match action:
            case "write":
                (folder / name).write_text("." * number)  # a size of its own: stamps of some systems are coarse
            case "append":
                with (folder / name).open("a") as file:
                    file.write(f"+{number}")
            case "delete":
                (folder / name).unlink()
            case "link":
                # Of one file with two names in the folder, a change is told of the one that was used.
                prepared = folder.with_name("outside")
                prepared.write_text("-" * number)
                try:
                    os.link(prepared, folder / name)
                finally:
                    prepared.unlink()
            case "mkdir":
                (folder / name).mkdir()
            case "rename":
                (folder / name).rename(folder / other)
            case "rmtree":
                shutil.rmtree(folder)
            case "create":
                folder.mkdir()
            case "away":
                folder.rename(away)
            case "back":
                away.rename(folder)
            case "swap":
                folder.rename(spare)
                away.rename(folder)
    except OSError:
        pass


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_a_copy_kept_by_the_recipe_is_right_in_the_end(maker: Callable[[], FolderWatcher], tmp_path: Path) -> None:
    numbers = iter(range(1_000_000))

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(STEPS, max_size=3))
    def check(rounds: list[list[tuple[str, str, str]]]) -> None:
        top = tmp_path.resolve() / str(next(numbers))
        folder = top / "watched"
        folder.mkdir(parents=True)
        asyncio.run(follow(rounds, folder))
        shutil.rmtree(top)

    async def follow(rounds: list[list[tuple[str, str, str]]], folder: Path) -> None:
        before = descriptors()
        watcher = maker()
        try:
            copy = Copy(watcher, folder)
            for steps in rounds:
                for step in steps:
                    perform(step, folder, next(numbers))
                await copy.until(lambda: copy.files == contents(folder))
        finally:
            await close(watcher, before)

    check()


class Log:
    """Keeps the warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def info(self, message: str) -> None: ...

    def warning(self, message: str) -> None:
        self.warnings.append(message)

    def error(self, message: str) -> None: ...


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Nothing can be opened any more, which looks like the end of inotify instances."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_without_inotify_the_reason_is_logged_and_folders_are_compared() -> None:
    log = Log()
    with no_descriptor_left():
        watcher = open_folder_watcher(log)
    assert isinstance(watcher, PortableWatcher)
    assert len(log.warnings) == 1
    assert "fs.inotify.max_user_instances" in log.warnings[0]
    await watcher.aclose()


async def test_the_door_itself_names_the_remedy() -> None:
    with no_descriptor_left(), pytest.raises(OSError, match=r"fs\.inotify\.max_user_instances") as caught:
        InotifyWatcher()
    assert caught.value.errno == errno.EMFILE


async def test_linux_gets_inotify(folder: Path) -> None:
    watcher = open_folder_watcher()
    assert isinstance(watcher, InotifyWatcher)
    await watcher.aclose()
