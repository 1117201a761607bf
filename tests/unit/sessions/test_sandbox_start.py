"""Which further directories a sandbox is given."""

from __future__ import annotations

from switchboard.sessions.sandbox_start import binds


def there(_path: str) -> bool:
    return True


def test_each_directory_once_in_order() -> None:
    assert binds(["/b", "/a c", "/b"], there) == (("/b", "/a c"), ())


def test_nothing_asked_for() -> None:
    assert binds([], there) == ((), ())


def test_what_cannot_be_passed_on_is_left_out_with_a_warning() -> None:
    fit, warnings = binds(["/a:b", "/c\nd", "/e", "/a:b"], there)
    assert fit == ("/e",)
    assert warnings == (
        "the sandbox goes without '/a:b': a path with a colon or a line break cannot be passed on",
        "the sandbox goes without '/c\\nd': a path with a colon or a line break cannot be passed on",
    )


def test_what_is_missing_is_told_of_and_passed_on() -> None:
    fit, warnings = binds(["/gone", "/e"], lambda path: path != "/gone")
    assert fit == ("/gone", "/e")
    assert warnings == ("the sandbox goes without /gone, which does not exist",)
