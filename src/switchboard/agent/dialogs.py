"""Dialogs (pure): a question with numbered options, one of them highlighted. Enter takes the highlighted one.

Letters are ignored while a dialog is open and Enter picks its default: a prompt typed into one answers it. That is the
measured behaviour which the product has to respect, so it is kept here on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

YES, ALWAYS, NO, CLOSE = "yes", "always", "no", "close"


@dataclass(frozen=True, slots=True)
class Dialog:
    """`waiting_for`: what the descriptor says, None when there is no descriptor yet. `options`: (label, answer)."""

    title: str
    body: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    waiting_for: str | None
    selected: int = 0

    def typed(self, text: str) -> str | None:
        """The answer of the first digit that names an option; everything else is ignored."""
        for character in text:
            if character in "123456789" and int(character) <= len(self.options):
                return self.options[int(character) - 1][1]
        return None

    def entered(self) -> str:
        """The answer that Enter gives."""
        return self.options[self.selected][1]

    def moved(self, step: int) -> Dialog:
        """The dialog with another option highlighted."""
        return replace(self, selected=(self.selected + step) % len(self.options))


def permission(command: str) -> Dialog:
    """May the model run this command? The default is yes."""
    return Dialog(
        title="Bash command",
        body=(command, "Do you want to run this command?"),
        options=(
            ("Yes", YES),
            ("Yes, and don't ask again for this command in this session", ALWAYS),
            ("No (esc)", NO),
        ),
        waiting_for="permission prompt",
    )


def trust(folder: str) -> Dialog:
    """Is this folder trusted? The default is no, and ends the agent."""
    return Dialog(
        title="Do you trust the files in this folder?",
        body=(folder,),
        options=(("No, exit", NO), ("Yes, I trust this folder", YES)),
        waiting_for=None,
    )


def cost(turns: int) -> Dialog:
    """A panel that only has to be closed."""
    return Dialog(
        title="Cost",
        body=(f"{turns} prompt{'' if turns == 1 else 's'} answered by a script: nothing was spent.",),
        options=(("Close (esc)", CLOSE),),
        waiting_for="dialog open",
    )
