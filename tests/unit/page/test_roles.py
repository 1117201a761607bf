"""The renderer role: first ready page, then the one that has been ready longest."""

from switchboard.page.roles import Roles


def test_the_first_ready_page_holds_the_role_and_hands_it_on() -> None:
    roles = Roles()
    assert roles.renderer is None
    roles.ready("a")
    roles.ready("b")
    roles.ready("c")
    roles.ready("a")
    assert roles.renderer == "a"
    roles.gone("b")
    roles.gone("a")
    assert roles.renderer == "c"
    roles.ready("a")
    assert roles.renderer == "c"
    roles.gone("c")
    roles.gone("c")
    assert roles.renderer == "a"


def test_who_answers_comes_before_who_does_not() -> None:
    roles = Roles()
    for epoch in "abcd":
        roles.ready(epoch)
    roles.answered(["d", "b", "gone"])
    assert roles.in_order == ("b", "d", "a", "c")
    roles.answered([])
    assert roles.in_order == ("b", "d", "a", "c")
    assert roles.renderer == "b"
