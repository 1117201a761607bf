"""The plan of the house holds: imports go one way, and a module either decides or acts.

The plan itself is docs/architecture.md; the rules are in tests/support/architecture.py. Here stand the list of the
modules that act, the tests of the tree, and for each rule a sample that breaks it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.support import architecture
from tests.support.architecture import Module, parse

ROOT = Path(__file__).parents[2]
MODULES = architecture.read_tree(ROOT / "src")

INTERFACES = frozenset(
    {
        "common.clock",  # time as an interface, with the one wait built on it
        "common.feed",  # a value that changes, with the wait for its next change
        "delivery.port",  # the terminals that delivery writes to
        "triggers.lifecycle_port",  # what versioned requests need of the host
    }
)
"""How rooms and drivers talk: they may mention asyncio, do nothing by themselves, and anyone may import them."""

DOORS = frozenset(
    {
        "agent.descriptor_files",
        "agent.identity",
        "agent.shell",
        "agent.transcript_files",
        "agent.tty",
        "cli.browser",
        "cli.output",
        "cli.reach",
        "cli.triggers",
        "clis.background_jobs",
        "clis.descriptor_files",
        "clis.git_folders",
        "clis.process_end",
        "clis.procfs",
        "clis.transcript_files",
        "clis.transcript_search",
        "clis.transcript_index",
        "common.folder_survey",
        "common.inotify",
        "common.peers",
        "common.portable_watch",
        "common.system_clock",
        "host.instance",
        "host.log",
        "host.sandbox_folders",
        "page.local_client",
        "page.local_connection",
        "page.local_server",
        "page.web_connection",
        "page.web_files",
        "page.web_server",
        "page.terminal.tty",
        "sandbox.bwrap",
        "sandbox.host_files",
        "sandbox.run",
        "sandbox.start",
        "sessions.keeper.child",
        "sessions.keeper.folder",
        "sessions.keeper.ring",
        "sessions.keeper_start",
        "sessions.pty",
        "store.full_disk",
        "store.sqlite",
        "triggers.room",
        "triggers.spool",
    }
)
"""One module for each outside thing. A door holds no decision that needs a table of tests."""

DRIVERS = frozenset(
    {
        "agent.__main__",
        "agent.box",
        "agent.interactive",
        "agent.journal",
        "agent.presence",
        "agent.publisher",
        "agent.repl",
        "agent.screen",
        "agent.stage",
        "agent.start",
        "agent.terminal",
        "agent.turn",
        "agent.work",
        "cli.agent",
        "cli.config",
        "cli.demo",
        "cli.demo_guard",
        "cli.doctor",
        "cli.down",
        "cli.lifecycle",
        "cli.ls",
        "cli.main",
        "cli.new",
        "cli.open",
        "cli.project",
        "cli.request",
        "cli.result",
        "cli.sandbox_check",
        "cli.saved",
        "cli.send",
        "cli.stop",
        "cli.trigger",
        "cli.up",
        "cli.url",
        "cli.watch",
        "clis.namespace_resolver",
        "clis.project_snapshot",
        "clis.session_lookup",
        "clis.status_reader",
        "clis.transcript_watch",
        "common.folder_watch",
        "common.tasks",
        "delivery.desk",
        "delivery.hosted",
        "delivery.memory",
        "delivery.step",
        "delivery.submit",
        "delivery.typist",
        "host.actions",
        "host.closing",
        "host.host",
        "host.launching",
        "host.lifecycle",
        "host.sandboxes",
        "page.broker",
        "page.connection",
        "page.hub",
        "page.pulse",
        "page.session_info",
        "page.terminal.app",
        "page.terminal.display",
        "page.terminal.returning",
        "sandbox.__main__",
        "sandbox.command",
        "sandbox.making",
        "sessions.gate",
        "sessions.keeper.process",
        "sessions.keeper_client",
        "sessions.lifecycle",
        "sessions.liveness_check",
        "sessions.registry",
        "sessions.sandbox_evidence",
        "sessions.sandbox_status",
        "sessions.saved",
        "sessions.session",
        "sessions.guests",
        "sessions.status_binding",
        "sessions.stop",
        "sessions.transcript_service",
        "triggers.action_files",
        "triggers.fifo",
        "triggers.handler",
        "triggers.intake",
        "triggers.legacy",
        "triggers.legacy_chain",
        "triggers.legacy_single",
        "triggers.entrance",
        "triggers.outlet",
        "triggers.publisher",
        "triggers.telling",
        "triggers.v1_action",
        "triggers.v1_stop",
        "triggers.v1_delivery",
        "triggers.v1_handler",
        "triggers.v1_open",
        "triggers.v1_proof",
        "triggers.v1_resolve",
        "triggers.v1_work",
        "triggers.watcher",
    }
)
"""They wait for the next event or deadline, feed a pure machine and perform its commands."""


def acting(names: frozenset[str]) -> frozenset[str]:
    return frozenset(f"{architecture.PACKAGE}.{name}" for name in names)


def declared_dependencies() -> frozenset[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = (re.match(r"[\w.-]+", requirement) for requirement in project["dependencies"])
    return frozenset(match.group(0).lower().replace("-", "_") for match in names if match)


def no_problems(problems: list[str]) -> None:
    if problems:
        pytest.fail("\n  ".join([f"{len(problems)} breach(es) of docs/architecture.md:", *problems]), pytrace=False)


# --- the tree -------------------------------------------------------------------------------------------------------


def test_every_module_stands_in_a_room() -> None:
    assert MODULES
    no_problems(architecture.unknown_rooms(MODULES))


def test_imports_go_one_way() -> None:
    no_problems(architecture.one_way_breaches(MODULES))


def test_the_keeper_stands_on_common_and_python_alone() -> None:
    no_problems(architecture.keeper_breaches(MODULES))


def test_no_import_cycle() -> None:
    no_problems(architecture.cycles(MODULES))


def test_every_library_is_declared() -> None:
    no_problems(architecture.undeclared(MODULES, declared_dependencies()))


def test_modules_that_are_neither_door_nor_driver_are_pure() -> None:
    no_problems(architecture.neither_pure_nor_listed(MODULES, acting(DOORS | DRIVERS), acting(INTERFACES)))


def test_the_lists_name_what_exists_and_acts() -> None:
    by_name = {module.short_name: module for module in MODULES}
    listed = DOORS | DRIVERS | INTERFACES
    gone = [f"{name}: there is no such module; take it off the list." for name in sorted(listed - set(by_name))]
    calm = [
        f"{name}: is pure by now; take it off the list."
        for name in sorted(listed & set(by_name))
        if not architecture.acts(by_name[name], acting(DOORS | DRIVERS))
    ]
    no_problems(gone + calm)


def test_no_module_is_listed_twice() -> None:
    assert not (DOORS & DRIVERS | DOORS & INTERFACES | DRIVERS & INTERFACES)


# --- the rules catch what they are for ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("switchboard.common.x", "from switchboard.clis import profiles"),
        ("switchboard.clis.x", "import switchboard.sessions.pty"),
        ("switchboard.store.x", "from switchboard.clis import profiles"),
        ("switchboard.sessions.x", "from switchboard.delivery.port import Line"),
        ("switchboard.sessions.x", "from switchboard import bridge"),
        ("switchboard.delivery.x", "from ..triggers import spool"),
        ("switchboard.triggers.x", "from switchboard.page.messages import Message"),
        ("switchboard.page.x", "def late():\n    from switchboard.host import main"),
        ("switchboard.host.x", "import importlib\nimportlib.import_module('switchboard.cli.main')"),
        ("switchboard.host.x", "import switchboard.agent.main"),
        ("switchboard.agent.x", "from switchboard.sessions import modes"),
        (
            "switchboard.bridge.x",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import switchboard.sessions.pty",
        ),
    ],
    ids=[
        "common, of clis",
        "up a floor",
        "across the ground floor",
        "sessions, of delivery",
        "across the first floor",
        "relative",
        "triggers, of page",
        "inside a function",
        "import_module",
        "host, of agent",
        "agent, of sessions",
        "for type checkers",
    ],
)
def test_an_import_against_the_way_is_caught(name: str, source: str) -> None:
    [problem] = architecture.one_way_breaches([parse(name, source)])
    assert problem.startswith(f"{name}:")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("switchboard.cli.x", "from switchboard.agent import main\nfrom switchboard.host import start"),
        ("switchboard.triggers.x", "from switchboard.common import ecma\nfrom switchboard.delivery import port"),
        ("switchboard.sessions.x", "from . import modes\nfrom .keeper import ring\nimport os"),
        ("switchboard.agent.x", "from switchboard import __version__\nfrom switchboard.prompts import fifo"),
        ("switchboard.__main__", "from switchboard.cli.main import main"),
    ],
)
def test_an_import_down_the_house_is_not(name: str, source: str) -> None:
    assert architecture.one_way_breaches([parse(name, source)]) == []


def test_an_unknown_room_is_caught() -> None:
    assert architecture.unknown_rooms([parse("switchboard.utils.x", ""), parse("switchboard.common.x", "")]) == [
        "switchboard/utils: no room of that name is in the plan. Put the module into one of "
        + ", ".join(architecture.ALLOWED)
        + "."
    ]


def keeper(source: str, *others: Module) -> list[str]:
    return architecture.keeper_breaches([parse("switchboard.sessions.keeper.process", source), *others])


def test_the_keeper_may_not_import_its_own_room() -> None:
    assert len(keeper("from switchboard.sessions import registry", parse("switchboard.sessions.registry", ""))) == 1


def test_the_keeper_may_not_import_a_library() -> None:
    assert len(keeper("import msgspec")) == 1


def test_the_keeper_may_not_reach_a_library_through_common() -> None:
    common = parse("switchboard.common.codec", "def encode():\n    import msgspec")
    assert len(keeper("from switchboard.common.codec import encode", common)) == 1
    assert len(keeper("from switchboard.common import codec", common)) == 1


def test_what_the_keeper_does_not_import_may_use_libraries() -> None:
    common = parse("switchboard.common.codec", "import msgspec")
    assert keeper("import os\nfrom switchboard.common import frames", common) == []


def test_an_undeclared_library_is_caught() -> None:
    module = parse("switchboard.common.x", "import os, msgspec, requests.adapters")
    assert architecture.undeclared([module], frozenset({"msgspec"})) == [
        "switchboard.common.x:1 imports requests.adapters, which pyproject.toml does not name as a dependency."
    ]


def test_a_cycle_is_caught_once_and_late_imports_make_none() -> None:
    a = parse("switchboard.common.a", "from switchboard.common import b")
    b = parse("switchboard.common.b", "from switchboard.common.c import thing")
    c = parse("switchboard.common.c", "import switchboard.common.a")
    late = parse("switchboard.common.c", "def f():\n    import switchboard.common.a")
    assert len(architecture.cycles([a, b, c])) == 1
    assert architecture.cycles([a, b, late]) == []


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio",
        "import os",
        "import os.path",
        "from os import path",
        "import socket",
        "import subprocess",
        "import time",
        "import random",
        "import secrets",
        "import logging",
        "import signal",
        "import fcntl",
        "import sqlite3",
        "import threading",
        "import urllib.request",
        "from urllib import request",
        "from pathlib import Path",
        "import pathlib\npathlib.Path('x')",
        "from posixpath import exists",
        "import posixpath\nposixpath.realpath('x')",
        "from uuid import uuid4",
        "import uuid\nuuid.uuid4()",
        "from sys import stdout",
        "import sys\nsys.argv",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.now()",
        "open('x')",
        "print('x')",
        "def f():\n    import os",
        "async def f(): ...",
        "import prompt_toolkit",
        "from switchboard.common.pty import Pty",
        "from switchboard.common import pty",
    ],
)
def test_a_module_that_acts_is_caught(source: str) -> None:
    assert architecture.impurities(parse("switchboard.common.x", source), frozenset({"switchboard.common.pty"}))


def test_a_module_that_acts_is_named_once_with_its_first_reasons() -> None:
    module = parse("switchboard.common.x", "import os, socket, time, random, signal")
    assert architecture.neither_pure_nor_listed([module], frozenset(), frozenset()) == [
        "switchboard.common.x is no listed door or driver, so it has to be pure: "
        + "; ".join(
            f"line 1 imports {name}, which is not on the list of what only computes"
            for name in ("os", "socket", "time")
        )
        + "; and 2 more."
    ]
    assert architecture.neither_pure_nor_listed([module], frozenset({module.name}), frozenset()) == []
    assert architecture.neither_pure_nor_listed([module], frozenset(), frozenset({module.name})) == []


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom enum import Enum",
        "import re, json, math\nfrom collections.abc import Mapping",
        "from pathlib import PurePosixPath",
        "import posixpath\nposixpath.normpath('x')",
        "from uuid import UUID",
        "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)",
        "from urllib.parse import quote",
        "import sys\nsys.maxsize",
        "import msgspec",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import mmap",
        "from switchboard.common.clock import Instant",
        "def write(file, text):\n    file.open = text",
    ],
)
def test_a_module_that_computes_is_not(source: str) -> None:
    assert architecture.impurities(parse("switchboard.common.x", source), frozenset({"switchboard.common.pty"})) == []
