"""Whose size a session has."""

from switchboard.page.sizes import Sizes


def test_the_last_page_in_use_decides() -> None:
    sizes = Sizes()
    assert sizes.owner(1) is None
    assert sizes.claim(1, "a")
    assert sizes.claim(1, "b")
    assert (sizes.owner(1), sizes.owner(2)) == ("b", None)


def test_what_is_free_goes_to_the_first_that_says_so() -> None:
    sizes = Sizes()
    assert sizes.claim(1, "a", free=True)
    assert not sizes.claim(1, "b", free=True)
    assert sizes.claim(1, "a", free=True)
    assert sizes.claim(2, "b", free=True)
    assert (sizes.owner(1), sizes.owner(2)) == ("a", "b")


def test_what_a_page_leaves_is_free_and_what_a_session_leaves_is_forgotten() -> None:
    sizes = Sizes()
    for handle, epoch in ((1, "a"), (2, "b"), (3, "a")):
        sizes.claim(handle, epoch)
    sizes.session_gone(3)
    sizes.session_gone(9)
    assert sizes.page_gone("a") == [1]
    assert sizes.page_gone("a") == []
    assert [sizes.owner(handle) for handle in (1, 2, 3)] == [None, "b", None]
    assert sizes.claim(1, "b", free=True)


def test_a_page_that_had_it_has_it_back_from_one_that_only_came_first() -> None:
    sizes = Sizes()
    assert sizes.claim(1, "first", free=True)
    assert sizes.claim(1, "had it", free=True, before=True)
    assert sizes.owner(1) == "had it"
    assert not sizes.claim(1, "first", free=True)
    assert not sizes.claim(1, "had it too", free=True, before=True), "one after another would change it to and fro"
    assert sizes.claim(1, "in use")
    assert not sizes.claim(1, "had it", free=True, before=True)


def test_a_page_that_came_first_and_is_used_keeps_it() -> None:
    sizes = Sizes()
    sizes.claim(1, "first", free=True)
    sizes.claim(1, "first")
    assert sizes.claim(1, "first", free=True), "it is its own, and no less so"
    assert not sizes.claim(1, "had it", free=True, before=True)
    assert sizes.owner(1) == "first"
