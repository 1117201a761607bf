"""Small rules of the house that no linter has, as checks over text. Pure: text in, sentences out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

EXCLUSION = re.compile(r"#\s*(type: ignore(\[[^\]]*\])?|noqa(: ?[A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)*)?)(?P<reason>.*)")
"""An exclusion from type checker or linter; its reason stands behind it on the same line."""

GIVEN_UP = re.compile(r"pytest\.(skip|xfail|mark\.(skip|skipif|xfail))\b|pragma:\s*no[- ]cover|unittest\.skip")
"""A test that is not run, or code that is not looked at."""


def unexplained_exclusions(name: str, source: str) -> list[str]:
    return [
        f"{name}:{number} excludes a check without saying why: put the reason behind it, on the same line."
        for number, line in enumerate(source.splitlines(), 1)
        for match in EXCLUSION.finditer(line)
        if not re.search(r"\w{2,}", match.group("reason"))
    ]


def given_up(name: str, source: str) -> list[str]:
    return [
        f"{name}:{number} skips or excludes ({match.group(0)}): a skipped part is not done."
        for number, line in enumerate(source.splitlines(), 1)
        for match in GIVEN_UP.finditer(line)
    ]


def real_sleeps(name: str, source: str) -> list[str]:
    """Sleeps of a real length: a wait is an event with a deadline. `asyncio.sleep(0)` only gives way."""
    return [
        f"{name}:{node.lineno} sleeps: wait for an event with a deadline, and take time as an argument."
        for node in _calls(ast.parse(source))
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "sleep"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"time", "asyncio", "anyio"}
        and not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
    ]


def unnamed_tasks(name: str, source: str) -> list[str]:
    """`create_task` without a name: every task has a name and an owner."""
    return [
        f"{name}:{node.lineno} starts a task without a name."
        for node in _calls(ast.parse(source))
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in {"create_task", "ensure_future"}
        and not any(keyword.arg in {"name", None} for keyword in node.keywords)
    ]


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))
