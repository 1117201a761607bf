"""Which sessions the page knows, and in which order."""

import pytest
from msgspec.structs import replace

from switchboard.page.messages import SessionInfo
from switchboard.page.terminal.catalog import Catalog, closed_form, key_of, label_of, merged


def opened(handle: int, project: str = "/jobs/shop", **more: object) -> SessionInfo:
    info = SessionInfo(id=f"ID-{handle}", state="open", cli="agent", status="idle", handle=handle, project=project)
    return replace(info, **more)


def closed(name: str, project: str = "/jobs/shop", modified_at: int = 0) -> SessionInfo:
    return SessionInfo(id=name, state="closed", cli="agent", status="exited", project=project, modified_at=modified_at)


def shown(catalog: Catalog) -> list[tuple[str, list[str]]]:
    return [(project.title, [s.id for s in project.sessions]) for project in catalog.projects()]


def test_projects_with_open_sessions_come_first_and_newest_closed_ones_first() -> None:
    catalog = merged(
        [
            closed("old", "/jobs/other", 1),
            opened(2),
            opened(1),
            closed("older", modified_at=5),
            closed("newer", modified_at=9),
            opened(3, "/srv/a/b"),
            closed("homeless", ""),
        ]
    )
    assert shown(catalog) == [
        ("jobs/shop", ["ID-1", "ID-2", "newer", "older"]),
        ("a/b", ["ID-3"]),
        ("jobs/other", ["old"]),
        ("(no project)", ["homeless"]),
    ]
    assert [s.handle for s in catalog.with_terminal()] == [1, 2, 3]


def test_a_change_of_status_moves_nothing() -> None:
    catalog = merged([opened(1), opened(2)])
    assert shown(catalog.changed(opened(1, status="waiting"))) == shown(catalog)


def test_a_new_session_joins() -> None:
    assert shown(Catalog().changed(opened(1)).changed(opened(2))) == [("jobs/shop", ["ID-1", "ID-2"])]


def test_an_opened_conversation_is_not_listed_as_closed_again() -> None:
    catalog = merged([opened(1), closed("id-1"), closed("ID-2")])
    assert [s.id for s in catalog.sessions] == ["ID-1", "ID-2"]
    assert [key_of(s) for s in catalog.changed(opened(2)).sessions] == [1, 2]


def test_a_gone_conversation_stays_as_closed() -> None:
    catalog = merged([opened(1, name="cart", cwd="/c", status_since=7, pid=4), opened(2)]).gone(1)
    assert catalog.find("id-1") == closed_form(opened(1, name="cart", cwd="/c"), modified_at=7)
    assert catalog.find(1) is None


ENDED = opened(1, state="exited", status="exited")
AGAIN = opened(2, id="id-1")


def test_the_ended_terminal_of_a_conversation_that_is_open_again_is_not_shown() -> None:
    catalog = merged([ENDED, opened(3)]).changed(AGAIN)
    assert shown(catalog) == [("jobs/shop", ["id-1", "ID-3"])]
    assert [s.handle for s in catalog.with_terminal()] == [2, 3]
    assert [s.handle for s in catalog.look_up("ID-1")] == [2]
    assert [key_of(s) for s in catalog.gone(1).sessions] == [3, 2], "nor is it left as closed"
    assert shown(merged([ENDED])) == [("jobs/shop", ["ID-1"])]


@pytest.mark.parametrize(
    ("key", "before", "later", "found"),
    [
        pytest.param(1, [ENDED], [ENDED, AGAIN], 2, id="ended, and runs again"),
        pytest.param(1, [opened(1)], [AGAIN], 2, id="runs in another terminal after a lost connection"),
        pytest.param("id-1", [closed("ID-1")], [AGAIN], 2, id="closed, and opened"),
        pytest.param(1, [ENDED], [ENDED, opened(2, id="id-1", state="exited")], 1, id="ended, and ended again"),
        pytest.param(1, [opened(1)], [opened(1), AGAIN], 1, id="it runs where it did"),
        pytest.param(1, [opened(1)], [opened(1, id="new"), AGAIN], 1, id="it goes on under another id"),
        pytest.param(1, [opened(1)], [ENDED], 1, id="it ends"),
        pytest.param(1, [ENDED], [ENDED, opened(2)], 1, id="another one opens"),
        pytest.param(None, [ENDED], [ENDED, AGAIN], None, id="nothing"),
    ],
)
def test_where_a_conversation_goes_on(
    key: object, before: list[SessionInfo], later: list[SessionInfo], found: object
) -> None:
    assert merged(before).goes_on(key, merged(later)) == found  # type: ignore[arg-type]  # keys of a table


def test_a_gone_shell_is_gone() -> None:
    assert merged([opened(1, kind="shell")]).gone(1) == Catalog()


def test_an_unknown_one_cannot_go() -> None:
    catalog = merged([opened(1)])
    assert catalog.gone(9) == catalog


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param("ID-1", [1], id="id"),
        pytest.param("id-1", [1], id="letter case does not count"),
        pytest.param("cart", [3], id="name"),
        pytest.param("id-", [1, 2, 3], id="start of several"),
        pytest.param("old", ["old1"], id="start of one"),
        pytest.param("nothing", [], id="unknown"),
        pytest.param("", [], id="nothing"),
        pytest.param("twice", [5], id="one name twice: the open one"),
    ],
)
def test_look_up(wanted: str, found: list[object]) -> None:
    twice = closed("x9")
    catalog = merged(
        [
            opened(1),
            opened(2),
            opened(3, name="Cart"),
            closed("old1"),
            replace(twice, name="twice"),
            opened(5, id="y5", name="twice"),
        ]
    )
    assert [key_of(s) for s in catalog.look_up(wanted)] == found


@pytest.mark.parametrize(
    ("session", "label"),
    [
        (opened(1, name="cart", title="t"), "cart"),
        (opened(1, name="\x1b\x07", title="a\x1b]0;t"), "a ]0;t"),
        (opened(1, title=""), "ID-1"),
        (opened(1, id="0123456789abc"), "01234567"),
        (opened(1, id="\x00"), " "),
    ],
)
def test_label(session: SessionInfo, label: str) -> None:
    assert label_of(session) == label
