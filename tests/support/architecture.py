"""The plan of the house as checks over source text: which room may import which, and which modules may act.

Pure: every function takes parsed modules and returns sentences, one for each breach. `tests/unit/test_architecture.py`
applies them to the tree and shows that each catches what it is for.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "switchboard"

GROUND = frozenset({"common"})
SERVICES = GROUND | {"clis", "sandbox", "store", "prompts"}
SESSIONS = SERVICES | {"sessions", "bridge"}
DELIVERY = SESSIONS | {"delivery"}
DOORSTEP = DELIVERY | {"triggers", "page"}

ALLOWED: Mapping[str, frozenset[str]] = {
    "common": frozenset(),
    "clis": GROUND,
    "sandbox": GROUND,
    "store": GROUND,
    "prompts": GROUND,
    "sessions": SERVICES,
    "bridge": SERVICES,
    "delivery": SESSIONS,
    "triggers": DELIVERY,
    "page": DELIVERY,
    "host": DOORSTEP,
    # The built-in agent is a program of its own, which the host starts like any other CLI.
    "agent": frozenset({"common", "prompts"}),
    "cli": DOORSTEP | {"host", "agent"},
}
"""For each room, the rooms it may import. Rooms of one floor are absent from each other's set on purpose."""

KEEPER = f"{PACKAGE}.sessions.keeper"
"""Outlives upgrades of everything else, so it may lean on `common`, on itself and on Python alone."""

PURE_STANDARD_LIBRARY = frozenset(
    {
        *("__future__", "abc", "typing", "types", "dataclasses", "enum", "collections", "functools", "itertools"),
        *("operator", "contextlib", "copy", "heapq", "bisect", "array", "math", "decimal", "fractions", "numbers"),
        *("re", "string", "textwrap", "unicodedata", "json", "struct", "codecs", "base64", "binascii", "hashlib"),
        *("hmac", "zlib", "html", "shlex", "difflib", "errno", "keyword", "ipaddress", "datetime", "uuid", "sys"),
        *("pathlib", "posixpath", "urllib"),
    }
)
"""What pure modules may import of Python; for the last six, only the names in `PURE_NAMES`."""

PURE_NAMES: Mapping[str, frozenset[str]] = {
    "datetime": frozenset({"datetime", "timedelta", "timezone", "date", "UTC"}),
    "uuid": frozenset({"UUID", "uuid3", "uuid5"}),
    "sys": frozenset({"maxsize", "maxunicode", "version_info", "float_info", "int_info"}),
    "pathlib": frozenset({"PurePath", "PurePosixPath", "PureWindowsPath"}),
    # `os.path` has both: these only work on text, while the others ask the file system. `os` itself is never pure.
    "posixpath": frozenset(
        {"join", "normpath", "basename", "dirname", "split", "splitext", "isabs", "commonpath", "sep"}
    ),
    "urllib": frozenset({"parse"}),
}

PURE_THIRD_PARTY = frozenset({"msgspec", "wcwidth"})
"""Libraries that compute and do not act."""

ACTING_CALLS = frozenset({"open", "print", "input", "exec", "eval", "breakpoint", "__import__", "exit", "quit"})
"""Built-in functions that act, or hide what is done."""

CLOCK_METHODS = frozenset({"now", "utcnow", "today"})
"""Of `datetime` and `date`: they read the clock."""


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, whether it is a package's `__init__`, and how many lines it has."""

    name: str
    tree: ast.Module
    is_package: bool = False
    lines: int = 0

    @property
    def room(self) -> str:
        """The folder under the package; empty for the package's own top-level modules."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 2 or (len(parts) == 2 and self.is_package) else ""

    @property
    def short_name(self) -> str:
        return self.name.removeprefix(f"{PACKAGE}.")


@dataclass(frozen=True)
class Import:
    """`module` as imported; `name` of `from module import name`. `late`: at call time. `typing`: for checkers only."""

    module: str
    name: str | None
    line: int
    late: bool = False
    typing: bool = False


def parse(name: str, source: str, *, is_package: bool = False) -> Module:
    return Module(name, ast.parse(source), is_package, len(source.splitlines()))


def read_tree(root: Path) -> list[Module]:
    """Every module below `root`, the folder that holds the package."""
    modules = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        modules.append(
            parse(".".join(parts[:-1] if is_package else parts), path.read_text("utf-8"), is_package=is_package)
        )
    return modules


def imports(module: Module) -> Iterator[Import]:
    """Every import of a module, at any depth, relative ones resolved, `import_module("…")` included."""
    yield from _imports(module, module.tree, late=False, typing=False)


def _imports(module: Module, node: ast.AST, *, late: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, None, child.lineno, late, typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            source = _absolute(module, child)
            yield from (Import(source, alias.name, child.lineno, late, typing) for alias in child.names)
        elif isinstance(child, ast.Call) and _called(child) in {"import_module", "__import__"} and child.args:
            first = child.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(first.value, None, child.lineno, late=True)
        yield from _imports(
            module,
            child,
            late=late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)),
            typing=typing or _is_type_checking(child),
        )


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.name.split(".")
    up = node.level - 1 if module.is_package else node.level
    base = parts[: len(parts) - up]
    return ".".join([*base, node.module] if node.module else base)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _target(entry: Import, known: frozenset[str]) -> str:
    """The module an import reaches: `from package import module` reaches the module."""
    longer = f"{entry.module}.{entry.name}"
    return longer if entry.name is not None and longer in known else entry.module


def _ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


# --- rooms ----------------------------------------------------------------------------------------------------------


def unknown_rooms(modules: Iterable[Module]) -> list[str]:
    rooms = {module.room for module in modules if module.room}
    return [
        f"{PACKAGE}/{room}: no room of that name is in the plan. Put the module into one of {', '.join(ALLOWED)}."
        for room in sorted(rooms - set(ALLOWED))
    ]


def one_way_breaches(modules: Iterable[Module]) -> list[str]:
    """Imports that go up, or across a floor."""
    found = []
    for module in modules:
        for entry in imports(module):
            if not _ours(entry.module):
                continue
            parts = entry.module.split(".")
            reached = parts[1] if len(parts) > 1 else (entry.name or "")
            if reached not in ALLOWED or reached == module.room:
                continue
            if module.room == "" and module.name.endswith("__main__") and reached == "cli":
                continue
            if reached not in ALLOWED.get(module.room, frozenset()):
                may = ", ".join(sorted(ALLOWED.get(module.room, frozenset()))) or "nothing of ours"
                who = module.room or "the package itself"
                found.append(
                    f"{module.name}:{entry.line} imports {entry.module}: {who} may import {may}. "
                    f"Let the value travel as a small frozen type of a room below, or wire the two in `host`."
                )
    return found


def keeper_breaches(modules: Iterable[Module]) -> list[str]:
    """What the keeper imports, directly or through `common`, beside `common`, itself and the standard library."""
    by_name = {module.name: module for module in modules}
    known = frozenset(by_name)
    found: list[str] = []
    seen: set[str] = set()
    waiting = [(name, name) for name in sorted(known) if name == KEEPER or name.startswith(f"{KEEPER}.")]
    while waiting:
        name, through = waiting.pop()
        if name in seen or name not in by_name:
            continue
        seen.add(name)
        for entry in imports(by_name[name]):
            target = _target(entry, known)
            if not _ours(target):
                if target.split(".")[0] not in sys.stdlib_module_names:
                    found.append(
                        f"{name}:{entry.line} imports {target}; the keeper's {through} needs it: standard library only."
                    )
            elif _may_serve_keeper(target):
                waiting.append((target, through))
            else:
                found.append(f"{name}:{entry.line} imports {target}: the keeper may import `common` and itself only.")
    return sorted(found)


def _may_serve_keeper(target: str) -> bool:
    return target == KEEPER or target.startswith((f"{KEEPER}.", f"{PACKAGE}.common.")) or target == f"{PACKAGE}.common"


def undeclared(modules: Iterable[Module], declared: frozenset[str]) -> list[str]:
    """Third-party imports that the package's own metadata does not name."""
    return [
        f"{module.name}:{entry.line} imports {entry.module}, which pyproject.toml does not name as a dependency."
        for module in modules
        for entry in imports(module)
        if not _ours(entry.module)
        and entry.module.split(".")[0] not in sys.stdlib_module_names
        and entry.module.split(".")[0].lower().replace("-", "_") not in declared
    ]


def cycles(modules: Iterable[Module]) -> list[str]:
    """Modules that need each other while they are being imported."""
    listed = list(modules)
    known = frozenset(module.name for module in listed)
    graph = {
        module.name: sorted(
            {_target(entry, known) for entry in imports(module) if not entry.late and not entry.typing}
            & known - {module.name}
        )
        for module in listed
    }
    done: set[str] = set()
    found: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            ring = path[path.index(name) :]
            start = ring.index(min(ring))
            found.add(" → ".join([*ring[start:], *ring[:start], ring[start]]))
        elif name not in done:
            for after in graph[name]:
                visit(after, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return [f"{ring}: these import each other. Move what both need into a module below." for ring in sorted(found)]


# --- pure modules ---------------------------------------------------------------------------------------------------


def impurities(module: Module, acting: frozenset[str]) -> list[str]:
    """Why a module is not pure, as "line N …". `acting`: full names of doors and drivers, which it may not import."""
    return [
        # A type is no deed: what is imported for type checkers only does not run.
        *(problem for entry in imports(module) if not entry.typing for problem in _impure_import(entry, acting)),
        *_impure_code(module),
    ]


def _impure_import(entry: Import, acting: frozenset[str]) -> Iterator[str]:
    top = entry.module.split(".")[0]
    if _ours(entry.module):
        for target in (entry.module, f"{entry.module}.{entry.name}"):
            if target in acting:
                yield f"line {entry.line} imports {target}, which acts: take what it brings as an argument"
    elif top in PURE_NAMES:
        asked = entry.name if "." not in entry.module else entry.module.split(".")[1]
        if asked is not None and asked not in PURE_NAMES[top]:
            yield f"line {entry.line} imports {asked} of {top} (only {', '.join(sorted(PURE_NAMES[top]))} compute)"
    elif top not in PURE_STANDARD_LIBRARY | PURE_THIRD_PARTY:
        yield f"line {entry.line} imports {entry.module}, which is not on the list of what only computes"


def _impure_code(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            yield f"line {node.lineno} waits (async), which is a driver's part"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ACTING_CALLS:
            yield f"line {node.lineno} calls {node.func.id}()"
        elif isinstance(node, ast.Attribute):
            yield from _impure_attribute(node)


def _impure_attribute(node: ast.Attribute) -> Iterator[str]:
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    last = node.value.attr if isinstance(node.value, ast.Attribute) else owner
    if last in {"datetime", "date"} and node.attr in CLOCK_METHODS:
        yield f"line {node.lineno} reads the clock ({last}.{node.attr}): take the instant as an argument"
    elif owner in PURE_NAMES and owner != "datetime" and node.attr not in PURE_NAMES[owner]:
        yield f"line {node.lineno} uses {owner}.{node.attr} (only {', '.join(sorted(PURE_NAMES[owner]))} compute)"


def neither_pure_nor_listed(modules: Iterable[Module], acting: frozenset[str], interfaces: frozenset[str]) -> list[str]:
    """One sentence for each module that acts without standing on a list, with the first few of its reasons."""
    found = []
    for module in modules:
        if module.name in acting | interfaces:
            continue
        reasons = impurities(module, acting)
        if reasons:
            more = f"; and {len(reasons) - 3} more" if len(reasons) > 3 else ""
            found.append(
                f"{module.name} is no listed door or driver, so it has to be pure: {'; '.join(reasons[:3])}{more}."
            )
    return found


def acts(module: Module, acting: frozenset[str]) -> bool:
    """Whether a module needs its place on the list of doors and drivers."""
    return bool(impurities(module, acting - {module.name}))
