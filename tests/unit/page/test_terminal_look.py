"""A status is an icon, a word and a style; never colour alone."""

import pytest

from switchboard.page.terminal.look import STATUSES, WORD_CELLS, Look, Style, look_of, status_of
from switchboard.page.terminal.text import width


@pytest.mark.parametrize("kind", ["icon", "ascii_icon", "word"])
def test_each_status_is_told_from_the_others_without_colour(kind: str) -> None:
    values = [getattr(status, kind) for status in STATUSES.values()]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("name", STATUSES)
def test_icons_take_one_cell(name: str) -> None:
    status = STATUSES[name]
    assert width(status.icon) == width(status.ascii_icon) == 1
    assert status.ascii_icon.isascii()
    assert len(status.word) <= WORD_CELLS


@pytest.mark.parametrize(
    ("state", "status", "word"),
    [
        ("open", "starting", "starting"),
        ("open", "idle", "idle"),
        ("open", "busy", "busy"),
        ("open", "waiting", "waiting"),
        ("open", "shell", "shell"),
        ("open", "running", "running"),
        ("open", "unknown", "unknown"),
        ("open", "something new", "unknown"),
        ("exited", "exited", "exited"),
        ("exited", "failed", "failed"),
        ("exited", "busy", "exited"),
        ("closed", "exited", "closed"),
        ("closed", "idle", "closed"),
    ],
)
def test_status_of(state: str, status: str, word: str) -> None:
    assert status_of(state, status).word == word


def test_waiting_is_the_loudest() -> None:
    look = Look()
    for style in Style:
        if style is not Style.WAITING:
            assert "7" not in look.attributes(style).split(";")
    assert {"1", "7"} <= set(look.attributes(Style.WAITING).split(";"))


@pytest.mark.parametrize("style", Style)
def test_no_color_means_no_colour(style: Style) -> None:
    assert set(Look(color=False).attributes(style).split(";")) <= {"", "1", "2", "7"}


@pytest.mark.parametrize(
    ("env", "look"),
    [
        pytest.param({"LANG": "de_DE.UTF-8"}, Look(), id="utf-8"),
        pytest.param({"LANG": "C.utf8"}, Look(), id="utf8 without a hyphen"),
        pytest.param({}, Look(unicode=False), id="no locale"),
        pytest.param({"LANG": "C.UTF-8", "LC_ALL": "C"}, Look(unicode=False), id="LC_ALL wins"),
        pytest.param({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, Look(), id="LC_CTYPE before LANG"),
        pytest.param({"LANG": "C.UTF-8", "LC_ALL": ""}, Look(), id="empty does not count"),
        pytest.param({"LANG": "C.UTF-8", "NO_COLOR": "1"}, Look(color=False), id="NO_COLOR"),
        pytest.param({"LANG": "C.UTF-8", "NO_COLOR": ""}, Look(), id="empty NO_COLOR does not count"),
    ],
)
def test_look_of(env: dict[str, str], look: Look) -> None:
    assert look_of(env) == look


def test_the_ellipsis_follows_the_locale() -> None:
    assert (Look().ellipsis, Look(unicode=False).ellipsis) == ("…", "...")
