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
