"""What the terminal page does, as values: the model returns them, the driver performs them in order (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from switchboard.page.messages import PageMessage


@dataclass(frozen=True, slots=True)
class Send:
    """Say this to the host."""

    message: PageMessage


@dataclass(frozen=True, slots=True)
class Show:
    """Put this session on the screen."""

    handle: int


@dataclass(frozen=True, slots=True)
class ShowList:
    """Put the list on the screen, whatever was there."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """A key could not do what it is for: sound the bell, and say why where the person looks."""

    why: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Something a person should see, also while a session is on the screen."""

    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """End the page."""

    code: int = 0
    text: str = ""


Do = Send | Show | ShowList | Refuse | Tell | Leave
