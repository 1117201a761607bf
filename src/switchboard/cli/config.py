"""`switchboard config`: saved settings, for everything or for one project."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from switchboard.cli.saved import Trouble, directory_of, fail, opened
from switchboard.clis.launch_settings import SETTINGS, Effective, InvalidSetting, parse, resolve
from switchboard.store.sqlite import GLOBAL, Store, project_scope

EPILOG = """Each setting is looked for in the project's own, then in the global ones, then in the built-in default.
`null` is a value, too: it says "nothing" and hides what is set globally; `unset` lets it through again.
`true`, `false` and `null` are values, everything else is text.

settings:
"""


def main(argv: Sequence[str]) -> int:
    """Return 0, 1 when the database cannot be used, 2 for a setting or value that does not exist."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        project = _project(options.project)
        with opened() as store:
            if options.action == "get":
                return _get(store, options, project)
            if options.action == "unset":
                if options.all == (options.key is not None):
                    parser.error("unset takes a KEY or --all")
                return _unset(store, options.key, project)
            return _set(store, options.key, options.value, project)
    except InvalidSetting as error:
        return fail("config", error, 2)
    except Trouble as error:
        return fail("config", error)


def _parser() -> argparse.ArgumentParser:
    rows = "\n".join(f"  {one.key:<27} {one.meaning}\n{'':<30}{one.allowed}" for one in SETTINGS.values())
    parser = argparse.ArgumentParser(
        prog="switchboard config",
        description="Get and set what sessions are started with.",
        epilog=EPILOG + rows,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    get = actions.add_parser("get", help="what counts, and where it comes from")
    get.add_argument("key", nargs="?", metavar="KEY", help="one setting; without it, all")
    get.add_argument("--json", action="store_true", help="print JSON")
    change = actions.add_parser("set", help="save a value")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE")
    unset = actions.add_parser("unset", help="take a value back: what stands behind it counts again")
    unset.add_argument("key", nargs="?", metavar="KEY")
    unset.add_argument("--all", action="store_true", help="every setting of this scope, damaged ones too")
    for action in (get, change, unset):
        action.add_argument("--project", metavar="DIRECTORY", help="of this project instead of everywhere")
    return parser


def _project(argument: str | None) -> str | None:
    if argument is None:
        return None
    path = directory_of(argument)
    if not os.path.isdir(path):
        raise InvalidSetting(f"{path} is no directory")
    return os.path.realpath(path)


def _get(store: Store, options: argparse.Namespace, project: str | None) -> int:
    _known(options.key)
    everywhere, here = store.settings(GLOBAL, project_scope(project or ""))
    found = resolve(everywhere, here if project is not None else {})
    if options.key is not None:
        one = found[options.key]
        print(json.dumps(_row(options.key, one)) if options.json else _text(one.value))
    elif options.json:
        print(json.dumps([_row(key, one) for key, one in found.items()], indent=2))
    else:
        for key, one in found.items():
            print(f"{key:<27} {_text(one.value):<20} {one.source}")
    return 0


def _set(store: Store, key: str, text: str, project: str | None) -> int:
    value = parse(key, text)
    if project is not None and not SETTINGS[key].per_project:
        raise InvalidSetting(f"{key} holds everywhere; set it without --project")

    def change(stored: dict[str, Any]) -> Mapping[str, Any]:
        return stored | {key: value}

    store.change_settings(GLOBAL if project is None else project_scope(project), change)
    return 0


def _unset(store: Store, key: str | None, project: str | None) -> int:
    scope = GLOBAL if project is None else project_scope(project)
    if key is None:
        store.clear_settings(scope)
        return 0
    _known(key)
    store.change_settings(scope, lambda stored: {name: value for name, value in stored.items() if name != key})
    return 0


def _known(key: str | None) -> None:
    if key is not None and key not in SETTINGS:
        raise InvalidSetting(f"there is no setting {key!r}; there are: {', '.join(SETTINGS)}")


def _row(key: str, one: Effective) -> dict[str, object]:
    return {"key": key, "value": one.value, "source": one.source}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
