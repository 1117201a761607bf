"""The page's TypeScript types are those of the schema."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from switchboard.page import messages

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_messages", ROOT / "tools/generate_messages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_types_have_not_drifted(generator: ModuleType) -> None:
    committed = (ROOT / "web/src/messages.ts").read_text("utf-8")
    assert committed == generator.generate(), "run: .venv/bin/python tools/generate_messages.py"


def test_the_reasons_that_the_page_explains_are_all_there(generator: ModuleType) -> None:
    """web/tests/triggers.test.ts asks for an explanation of each."""
    committed = (ROOT / "web/tests/reasons.json").read_text("utf-8")
    assert committed == generator.reasons(), "run: .venv/bin/python tools/generate_messages.py"


def test_every_message_has_its_type(generator: ModuleType) -> None:
    text = generator.generate()
    for union in (messages.HostMessage, messages.PageMessage):
        for member in get_args(union):
            tag = member.__struct_config__.tag
            assert re.search(rf'export interface {member.__name__} {{\n  type: "{tag}";\n', text), member.__name__


def test_what_a_page_may_leave_out_is_optional_and_what_the_host_sends_is_there(generator: ModuleType) -> None:
    text = generator.generate()
    assert "  force?: boolean;\n" in text
    assert "  draft: boolean;\n" in text
    assert "  from_seq?: number | null;\n" in text
    assert '  mode: "fork" | "new" | "resume" | "shell";\n' in text
