"""The house budget as checks over source text. Pure: measures and sentences; what is excused is the caller's to say."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.support.architecture import Module


@dataclass(frozen=True)
class Limits:
    """`module` and `function` in lines (blank lines, comments and docstrings count), `attributes` of one instance.

    `module_at_most`: what no exception may pass.
    """

    module: int = 400
    module_at_most: int = 700
    function: int = 60
    attributes: int = 12


@dataclass(frozen=True)
class Size:
    """A measured thing: `kind` is module, function or attributes; `name` as the exception list would name it."""

    kind: str
    name: str
    amount: int


@dataclass(frozen=True)
class Excuse:
    """A named exception: how much it may take (never more than it does), and why it is not smaller."""

    amount: int
    why: str


def measure(module: Module, lines: int) -> Iterator[Size]:
    """The module's length, and each function and class in it. `lines`: how many the file has."""
    yield Size("module", module.short_name, lines)
    yield from _measure(module, module.tree, "")


def _measure(module: Module, node: ast.AST, scope: str) -> Iterator[Size]:
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = f"{scope}{child.name}."
            length = (child.end_lineno or child.lineno) - child.lineno + 1
            yield Size("function", f"{module.short_name}:{inner[:-1]}", length)
        elif isinstance(child, ast.ClassDef):
            inner = f"{scope}{child.name}."
            yield Size("attributes", f"{module.short_name}:{inner[:-1]}", len(attributes(child)))
        yield from _measure(module, child, inner)


def attributes(node: ast.ClassDef) -> frozenset[str]:
    """The instance attributes of a class: what its methods assign on `self`, its declared fields, its slots."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if "ClassVar" not in ast.dump(statement.annotation):
                found.add(statement.target.id)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.args.args:
            owner = statement.args.args[0].arg
            found |= {
                target.attr
                for target in ast.walk(statement)
                if isinstance(target, ast.Attribute)
                and isinstance(target.ctx, ast.Store)
                and isinstance(target.value, ast.Name)
                and target.value.id == owner
                and owner == "self"
            }
    return frozenset(found | _slots(node))


def _slots(node: ast.ClassDef) -> set[str]:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__slots__" for target in statement.targets
        ):
            return {
                item.value
                for item in ast.walk(statement.value)
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            }
    return set()


def excesses(sizes: Iterable[Size], excused: Mapping[str, Excuse], limits: Limits = Limits()) -> list[str]:
    """One sentence for each thing over its limit and not excused, and for each excuse that is no longer true."""
    allowed = {"module": limits.module, "function": limits.function, "attributes": limits.attributes}
    what = {"module": "lines", "function": "lines", "attributes": "instance attributes"}
    found = []
    needed: set[str] = set()
    for size in sizes:
        limit = allowed[size.kind]
        if size.amount <= limit:
            continue
        needed.add(size.name)
        excuse = excused.get(size.name)
        if excuse is None:
            found.append(f"{size.name}: {size.amount} {what[size.kind]}, the budget is {limit}. Is there a seam?")
        elif size.amount > excuse.amount:
            found.append(
                f"{size.name}: {size.amount} {what[size.kind]}, excused up to {excuse.amount}: may only shrink."
            )
        if size.kind == "module" and size.amount > limits.module_at_most:
            found.append(f"{size.name}: {size.amount} lines; no module passes {limits.module_at_most}, excused or not.")
    found += [
        f"{name}: within the budget now (or gone). Take its exception off the list."
        for name in sorted(set(excused) - needed)
    ]
    return found
