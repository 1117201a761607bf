"""Going back to the host: how long the page waits when it was refused."""

import pytest

from switchboard.page.terminal.returning import pause_ms


@pytest.mark.parametrize(
    ("refusals", "pause"), [(0, 0), (1, 200), (2, 400), (3, 800), (6, 6400), (7, 8000), (10_000, 8000)]
)
def test_the_pause_grows_with_the_refusals_and_has_an_end(refusals: int, pause: int) -> None:
    assert pause_ms(refusals) == pause
