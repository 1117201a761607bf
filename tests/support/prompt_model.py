"""The prompt machines once more, as plainly as they can be said: lists, flags and ifs.

Independent of the machines: nothing is imported from them. `tests/unit/prompts/test_schedules.py` lets both hear the
same and compares what they say. Here that is tuples: `("send", id, text)`, `("end", id, state)`, `("no",)` and so on.
"""

from __future__ import annotations

from typing import Any

Said = list[tuple[Any, ...]]

GRACE = 5_000
MOST = 20
BATCH = 10


class Model:
    """One session."""

    def __init__(self) -> None:
        self.waiting: list[list[Any]] = []  # [id, text, "queue" or "mid"]
        self.left_over: list[list[Any]] = []
        self.running: dict[str, Any] | None = None
        self.cancel_on_way: str | None = None
        self.given_up: set[str] = set()
        self.used: set[str] = set()
        self.wait: str | None = None
        self.flags = {"up": False, "held": False, "closed": False}
        self.said: Said = []

    def hear(self, what: str, *args: Any) -> Said:
        """Take in one event by its name; return what is said."""
        self.said = []
        if self.flags["closed"] and what in PEOPLE:
            return [("no",)]
        queue_before = len(self.waiting)
        getattr(self, what)(*args)
        if ("no",) in self.said:
            return [("no",)]
        drained = any(said[0] == "drain" and said[1] for said in self.said)
        self.start_next()
        started = any(said[0] == "send" for said in self.said)
        if self.wait is not None and (started or (not self.waiting and drained)):
            self.wait = None
        elif self.wait is not None and not self.waiting and queue_before:
            self.said.append(("release", self.wait))
            self.wait = None
        return self.said

    def start_next(self) -> None:
        blocked = self.running or self.cancel_on_way or not self.flags["up"]
        if blocked or self.flags["held"] or self.flags["closed"] or not self.waiting:
            return
        prompt, text, _ = self.waiting.pop(0)
        self.running = {"owner": prompt, "prompt": True, "fetched": [], "until": None}
        self.said.append(("send", prompt, text))

    def no(self) -> None:
        self.said.append(("no",))

    # people

    def submit(self, prompt: str, text: str) -> None:
        self.admit(prompt, text, "queue")

    def slip(self, prompt: str, text: str) -> None:
        takes = self.running is not None and self.running["until"] is None
        self.admit(prompt, text, "mid" if takes else "queue")

    def admit(self, prompt: str, text: str, lane: str) -> None:
        a_turn_has_it = prompt in self.given_up or (self.running is not None and self.running["owner"] == prompt)
        if prompt in self.used or a_turn_has_it or self.full(lane):
            return self.no()
        self.used.add(prompt)
        self.waiting.append([prompt, text, lane])
        return None

    def full(self, lane: str) -> bool:
        return len([one for one in self.waiting if one[2] == lane]) >= MOST

    def edit(self, prompt: str, text: str) -> None:
        for one in self.waiting + self.left_over:
            if one[0] == prompt:
                one[1] = text
                return
        self.no()

    def reorder(self, prompt: str, before: str | None) -> None:
        ids = [one[0] for one in self.waiting]
        if prompt not in ids or (before is not None and before not in ids):
            return self.no()
        if prompt == before:
            return None
        one = self.waiting.pop(ids.index(prompt))
        ids.remove(prompt)
        self.waiting.insert(len(ids) if before is None else ids.index(before), one)
        return None

    def lane(self, prompt: str, lane: str) -> None:
        for one in self.waiting:
            if one[0] != prompt:
                continue
            takes = self.running is not None and self.running["until"] is None
            if one[2] != lane and (self.full(lane) or (lane == "mid" and not takes)):
                return self.no()
            one[2] = lane
            return None
        return self.no()

    def cancel(self, prompt: str, now: int) -> None:
        if self.running and self.running["owner"] == prompt:
            self.stop(now)
        else:
            self.withdraw(prompt)

    def withdraw(self, prompt: str) -> None:
        for where in (self.waiting, self.left_over):
            for one in list(where):
                if one[0] == prompt:
                    where.remove(one)
                    self.said.append(("end", prompt, "cancelled"))
                    return
        self.no()

    def stop(self, now: int) -> None:
        if self.running is None or self.running["until"] is not None:
            return self.no()
        self.running["until"] = now + GRACE
        self.cancel_on_way = self.running["owner"]
        self.said.append(("forward", self.running["owner"]))
        return None

    def resend(self, prompt: str) -> None:
        for one in self.left_over:
            if one[0] == prompt and not self.full("queue"):
                self.left_over.remove(one)
                self.waiting.append([prompt, one[1], "queue"])
                return
        self.no()

    # the driver

    def ready(self) -> None:
        self.flags["up"] = True

    def death(self) -> None:
        self.wait = None
        if self.running:
            self.over("error" if self.running["until"] is None else "cancelled")
        self.flags["up"] = False
        self.cancel_on_way = None
        self.given_up = set()

    def forwarded(self) -> None:
        self.cancel_on_way = None

    def time(self, now: int) -> None:
        if self.running and self.running["until"] is not None and now >= self.running["until"]:
            owner = self.running["owner"]
            self.over("cancelled")
            self.given_up.add(owner)

    def hold(self) -> None:
        self.flags["held"] = True

    def resume(self) -> None:
        self.flags["held"] = False

    def close(self) -> None:
        if self.running:
            if self.running["until"] is None:
                self.said.append(("forward", self.running["owner"]))
            self.over("cancelled")
        for one in self.waiting + self.left_over:
            self.said.append(("end", one[0], "cancelled"))
        self.waiting, self.left_over, self.cancel_on_way, self.given_up = [], [], None, set()
        self.flags["closed"] = True

    def restart(self) -> None:
        """The host went and came back; a new session continues from the old one's snapshot."""
        if self.running:
            for prompt in [self.running["owner"]] * self.running["prompt"] + self.running["fetched"]:
                self.said.append(("end", prompt, "error"))
        self.left_over += self.waiting
        self.waiting, self.running, self.cancel_on_way, self.given_up, self.wait = [], None, None, set(), None
        self.flags = {"up": False, "held": False, "closed": False}

    # the agent

    def answer(self, prompt: str, word: str) -> None:
        """`word`: a stop reason, or `error`."""
        if not (self.running and self.running["prompt"] and self.running["owner"] == prompt):
            self.given_up.discard(prompt)
            return
        stopping = self.running["until"] is not None
        ends = {"error": "cancelled" if stopping else "error", "cancelled": "cancelled"}
        self.over(ends.get(word, "completed"))

    def over(self, state: str) -> None:
        turn, self.running = self.running, None
        assert turn is not None
        for prompt in [turn["owner"]] * turn["prompt"] + turn["fetched"]:
            self.said.append(("end", prompt, state))
        for one in self.waiting:
            one[2] = "queue"

    def begin(self, turn: str) -> None:
        same = self.running and not self.running["prompt"] and self.running["owner"] == turn
        if same and self.running["until"] is None:  # type: ignore[index]  # `same` says that something runs
            self.said.append(("turn", True))
            return
        free = self.flags["up"] and not self.running and not self.cancel_on_way and not self.waiting
        known = turn in self.used or turn in self.given_up
        accepted = bool(free and not known and not self.flags["held"] and not self.flags["closed"])
        if accepted:
            self.running = {"owner": turn, "prompt": False, "fetched": [], "until": None}
        self.said.append(("turn", accepted))

    def finish(self, turn: str) -> None:
        if self.running and not self.running["prompt"] and self.running["owner"] == turn:
            self.over("completed" if self.running["until"] is None else "cancelled")
        else:
            self.given_up.discard(turn)

    def drain(self, owner: str | None) -> None:
        queued = any(one[2] == "queue" for one in self.waiting)
        turn = self.running
        mine = turn is not None and turn["owner"] == owner
        if turn is not None and turn["until"] is None and (mine or (owner is None and not self.given_up)):
            items = [one for one in self.waiting if one[2] == "mid"][:BATCH]
        else:
            items = []
        for one in items:
            self.waiting.remove(one)
            self.running["fetched"].append(one[0])  # type: ignore[index]  # only a running turn has items
        hint = queued and self.flags["up"] and (mine or owner is None)
        self.said.append(("drain", tuple((one[0], one[1]) for one in items), hint))

    def claim(self, owner: str | None) -> None:
        queued = any(one[2] == "queue" for one in self.waiting)
        if owner is None:
            lives = self.running or self.waiting or self.given_up or self.cancel_on_way
            yes = self.flags["up"] and not lives and not self.flags["closed"]
            self.said.append(("claim", bool(yes), False))
            return
        turn = self.running
        if turn is None or turn["owner"] != owner or turn["until"] is not None or self.given_up:
            self.said.append(("claim", False, False))
        elif queued:
            self.wait = owner
            self.said.append(("claim", False, True))
        else:
            self.said.append(("claim", True, False))


PEOPLE = frozenset({"submit", "slip", "edit", "reorder", "lane", "cancel", "withdraw", "stop", "resend"})
