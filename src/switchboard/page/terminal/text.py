"""Text as a terminal shows it: widths in cells, clipping, times, paths (pure).

Names, titles and paths come from programs and from the file system, so nothing of them reaches the screen before
`plain` has taken out what a terminal would obey.
"""

from __future__ import annotations

import unicodedata

import wcwidth

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control and format characters (direction overrides among them), surrogates, private use, unassigned, separators."""

_LIKENESS = str.maketrans("·…↑↓–‘’“”", "-.^v-''\"\"")

_JOINER = "\u200d"


def plain(text: str) -> str:
    """Return `text` on one line, with every character that a terminal might obey or hide replaced by a space."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if unicodedata.category(c) in _INVISIBLE and c != _JOINER else c for c in text)


def ascii_only(text: str) -> str:
    """Return `text` for a terminal that may not take UTF-8, equally wide: what has no likeness is a question mark."""
    return text.translate(_LIKENESS).encode("ascii", "replace").decode("ascii")


def width(text: str) -> int:
    """Return how many cells `plain` text takes."""
    return len(text) if text.isascii() else max(0, wcwidth.wcswidth(text))


def clip(text: str, cells: int, ellipsis: str = "…") -> str:
    """Return the start of `text` that fits into `cells`, marked when something was cut off."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    if room < 0:
        return ""
    kept: list[str] = []
    for grapheme in wcwidth.iter_graphemes(text):
        room -= width(grapheme)
        if room < 0:
            break
        kept.append(grapheme)
    return "".join(kept) + ellipsis


def clip_start(text: str, cells: int, ellipsis: str = "…") -> str:
    """Return the end of `text` that fits into `cells`: of a path or a half-typed line the end says more."""
    if width(text) <= cells:
        return text
    graphemes = list(wcwidth.iter_graphemes(text))
    while graphemes and width("".join(graphemes)) + width(ellipsis) > cells:
        del graphemes[0]
    return ellipsis + "".join(graphemes) if graphemes else clip(ellipsis, cells, "")


def pad(text: str, cells: int, ellipsis: str = "…") -> str:
    """Return `text` clipped or filled up to exactly `cells`."""
    text = clip(text, cells, ellipsis)
    return text + " " * (cells - width(text))


def wrap(text: str, cells: int, most: int, ellipsis: str = "…") -> list[str]:
    """Return `text` in lines of at most `cells`, broken between words, and at most `most` of them."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer) <= cells:
            lines[-1] = longer
        elif lines[-1]:
            lines.append(word)
        else:
            lines[-1] = word
    if len(lines) > most:
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
    return [clip(line, cells, ellipsis) for line in lines]


def last_segments(path: str, count: int = 2) -> str:
    """Return the last segments of a path: what people call a project."""
    parts = [part for part in path.split("/") if part]
    return "/".join(parts[-count:]) if parts else path


def age(then: int | None, now: int) -> str:
    """Return how long ago an instant was, in at most 4 cells; empty when it is unknown. Both in wall milliseconds."""
    if then is None:
        return ""
    passed = max(0, now - then)
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if passed >= unit:
            return f"{passed // unit}{letter}" if passed < 1000 * unit else "old"
    return "now" if passed < 10 * _SECOND else f"{passed // _SECOND}s"


def clock_time(now: int, utc_offset_s: int) -> str:
    """Return the wall time of day as HH:MM."""
    minutes = (now // 1000 + utc_offset_s) // 60
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def count(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else many}"


def absolute(path: str, base: str, home: str) -> str:
    """Return what a person meant by `path` typed while standing in `base`: `~` is `home`, nothing is `base`."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    if not path.startswith("/"):
        path = f"{base}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)
