"""What a person meets is documented: texts, settings, commands, options; and what is documented exists."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from switchboard.agent.faults import KNOWN as KNOWN_FAULTS
from switchboard.cli.main import COMMANDS, main
from switchboard.clis.launch_settings import SETTINGS
from switchboard.clis.profiles import PROFILES, CliProfile
from switchboard.delivery import reasons
from switchboard.page import hub, presence
from switchboard.page import reasons as page_reasons
from switchboard.page.terminal.listing import HELP
from switchboard.sessions.environment import SESSION_MARKERS
from switchboard.triggers import v1_reasons
from switchboard.triggers.v1_json_schema import request_schema, result_schema
from switchboard.triggers.v1_results import EVIDENCE, Outcome

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "switchboard"
DOCS = {path.name: path.read_text("utf-8") for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}

VARIABLE = re.compile(r"SWITCHBOARD_[A-Z][A-Z0-9_]*")
OPTION = re.compile(r"--[a-z][a-z-]+")
CODE_SPAN = re.compile(r"(`+)(.+?)\1")

RESULT_FIELDS = (
    *("ok", "submitted", "steps_total", "wrote", "text_written", "enter_written", "error", "reason", "internal"),
    *("sessionId", "command", "key", "sent_at", "waited_ms", "total_waited_ms", "submit_retries", "submit_confirmed"),
    *("written", "turn_observed", "steps_written", "steps_with_turn_observed", "compaction_observed", "confirm_source"),
    *("ready_source", "idle_source", "steps", "idx", "steps_completed", "unconfirmed_steps", "partial", "jobId"),
    *("targetMismatch", "targetCwdUnknown", "expectedCwd", "observedCwd", "channel", "host", "descriptor"),
)
"""Every field that the result of a legacy trigger may have."""

KEPT_BY_THE_SHELL = {"PWD"}
"""Nobody sets these to configure anything."""

CHECKS = (
    *("NO_OBJECT", "BAD_VERSION", "BAD_ACTION", "BAD_FILE_NAME", "ONE_TARGET", "NO_SESSION_ID", "unsupported_field"),
    *("BAD_SESSION_ID", "NEW_SHAPE", "PROJECT_PATH", "NAME_EMPTY", "NAME_TOO_LONG", "NAME_CONTROLS"),
    *("text_empty", "text_too_long", "text_controls", "BAD_TIMEOUT", "EXPECTED_CWD_SHAPE"),
)
"""The reasons of the shape of a versioned request, as they are checked."""

REQUEST_FIELDS = ("sessionId", "command", "chain", "key", "wait", "timeout_ms", "expectedCwd")


def code_spans(text: str) -> set[str]:
    return {match.group(2).strip() for match in CODE_SPAN.finditer(text)}


def section(text: str, title: str) -> str:
    """What stands under a second-level heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section '{title}'"
    return found.group(1)


def first_cells(text: str) -> list[str]:
    """The code span that makes up the first cell of each table row."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def table_rows(text: str) -> list[list[str]]:
    """The cells of each table row, heads left out."""
    lines = text.splitlines()
    heads = {above for above, below in itertools.pairwise(lines) if re.fullmatch(r"\|[|-]+\|", below)}
    rows = [line for line in lines if line.startswith("| ") and line not in heads]
    return [[cell.strip() for cell in row.removeprefix("|").removesuffix("|").split("|")] for row in rows]


def strings(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every string constant below a folder, docstrings left out."""
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                yield path, node.value


def missing(what: str, found: set[str], where: str) -> None:
    lacking = sorted(found - code_spans(DOCS[where]))
    if lacking:
        pytest.fail(
            "\n  ".join([f"{where if where == 'README.md' else f'docs/{where}'} lacks {what}:", *lacking]),
            pytrace=False,
        )


def variables(folder: Path) -> set[str]:
    return {text for _, text in strings(folder) if VARIABLE.fullmatch(text)}


def read_from_environment() -> set[str]:
    """Names that the code asks an environment for: `env.get("NAME")`, `environ["NAME"]`, `getenv("NAME")`."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            key: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                if node.func.attr == "getenv" or (node.func.attr == "get" and _is_environment(node.func.value)):
                    key = node.args[0]
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_environment(node.value):
                key = node.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.add(key.value)
    return found


def _is_environment(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.strip("_").lower() in {"env", "environ", "environment"}


# --- triggers -------------------------------------------------------------------------------------------------------


def test_every_error_and_reason_stands_in_the_trigger_reference_and_no_other() -> None:
    reference = DOCS["triggers.md"]
    documented = [*first_cells(section(reference, "Errors")), *first_cells(section(reference, "Reasons"))]
    texts = set(reasons.catalogue().values())
    documented = [text for text in documented if text not in {"error", "reason"}]
    assert sorted(texts - set(documented)) == [], "docs/triggers.md, sections Errors and Reasons, lacks these"
    assert sorted(set(documented) - texts) == [], "docs/triggers.md lists these, which nothing says any more"
    assert len(documented) == len(set(documented)), "a text is listed twice"


def test_the_catalogue_of_texts_is_whole() -> None:
    """A text added to the module without its place in the catalogue would escape the test above."""
    named = {name for name, thing in vars(reasons).items() if name.isupper() and isinstance(thing, str)}
    makers = {
        name
        for name, thing in vars(reasons).items()
        if callable(thing) and getattr(thing, "__module__", "") == reasons.__name__ and not name.startswith("_")
    }
    assert set(reasons.catalogue()) == (named | makers) - {"catalogue"}


def test_every_reason_of_an_action_stands_in_the_trigger_reference_and_no_other() -> None:
    rows = table_rows(section(DOCS["triggers.md"], "Lifecycle reasons"))
    documented = [cell.strip("`") for cell, *_ in rows]
    texts = set(v1_reasons.catalogue().values())
    assert sorted(texts - set(documented)) == [], "docs/triggers.md, section Lifecycle reasons, lacks these"
    assert sorted(set(documented) - texts) == [], "docs/triggers.md lists these, which nothing says any more"
    assert len(documented) == len(set(documented)), "a text is listed twice"


def test_every_reason_of_the_delivery_that_an_action_can_have_stands_in_the_trigger_reference_and_no_other() -> None:
    rows = table_rows(section(DOCS["triggers.md"], "Lifecycle reasons of the delivery"))
    assert sorted(cell.strip("`") for cell, *_ in rows) == sorted(v1_reasons.of_delivery().values())
    assert [row[0] for row in rows if len(row) != 3 or not row[2]] == [], "what is to be done?"


def test_the_trigger_reference_gives_the_bounds_for_a_page_that_hangs() -> None:
    (told,) = re.findall(r"^\*\*A page that hangs .*?\n\n", DOCS["triggers.md"], re.MULTILINE | re.DOTALL)
    every, answer = hub.PING_MS + hub.PONG_MS, hub.PONG_MS
    # Who hangs right before he is asked is found out soonest, who does so right after he has answered latest.
    ms = (hub.LEAD_MS, every, answer, every + answer, every // 2 + answer, presence.RETURN_MS)
    assert re.findall(r"\b(\d+)\ss\b", told) == [str(one // 1000) for one in ms]


def test_every_reason_of_an_action_says_what_it_means_and_what_to_do() -> None:
    rows = table_rows(section(DOCS["triggers.md"], "Lifecycle reasons"))
    assert {len(row) for row in rows} == {3}
    nothing_to_do = {f"`{v1_reasons.PLAIN_TERMINAL}`"}
    assert [row for row in rows if not row[1] or (not row[2] and row[0] not in nothing_to_do)] == []


def test_every_check_of_a_versioned_request_is_documented_in_its_order() -> None:
    rows = table_rows(section(DOCS["triggers.md"], "Opening and stopping sessions"))
    documented = [row[-1].strip("`") for row in rows if row[0].isdecimal()]
    assert documented == [v1_reasons.catalogue()[name] for name in CHECKS]


def test_every_outcome_of_an_action_stands_in_the_trigger_reference() -> None:
    documented = set(first_cells(section(DOCS["triggers.md"], "Lifecycle results")))
    assert {outcome.value for outcome in Outcome} <= documented


def test_every_field_of_a_versioned_request_and_its_result_stands_in_the_trigger_reference() -> None:
    rows = table_rows(section(DOCS["triggers.md"], "Opening and stopping sessions"))
    documented = {name for row in rows for name in code_spans(row[0])}
    assert schema_fields(request_schema()) - {"new"} <= {name.removeprefix("new.") for name in documented}
    results = section(DOCS["triggers.md"], "Lifecycle results")
    assert schema_fields(result_schema()) - EVIDENCE <= code_spans(results)
    missing("evidence", set(EVIDENCE), "triggers.md")


def schema_fields(schema: Any) -> set[str]:
    """Names of the properties that a JSON Schema describes, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(schema_fields, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", ())).union(*map(schema_fields, schema.values()))


def test_every_field_of_request_and_result_stands_in_the_trigger_reference() -> None:
    missing("fields", {*RESULT_FIELDS, *REQUEST_FIELDS}, "triggers.md")


def test_every_field_that_a_result_is_made_of_stands_in_the_trigger_reference() -> None:
    made = result_fields()
    assert {"ok", "submitted", "idx"} <= made
    missing("result fields", made, "triggers.md")


def result_fields() -> set[str]:
    """Keys that the trigger code puts into a result: of dictionaries that it writes out, and by assignment."""
    found: set[str] = set()
    for path in (SOURCE / "triggers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            keys: list[ast.expr | None] = []
            if isinstance(node, ast.Dict):
                keys = list(node.keys)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                keys = [node.slice]
            found |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return found


def test_every_exit_code_stands_in_the_trigger_reference() -> None:
    codes = re.findall(r"^\| (\d) \|", section(DOCS["triggers.md"], "Exit codes"), re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "4"]


# --- what the host answers to pages ---------------------------------------------------------------------------------


def test_every_reason_of_the_host_stands_in_the_user_guide_and_no_other() -> None:
    documented = first_cells(section(DOCS["user-guide.md"], "When the host refuses"))
    assert sorted(documented) == sorted(page_reasons.catalogue().values())


def test_no_answer_of_the_host_has_a_reason_of_its_own() -> None:
    """A text that is written where it is used would escape the test above."""
    spelled = []
    for path in [*(SOURCE / "host").glob("*.py"), *(SOURCE / "page").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            if isinstance(node.func, ast.Name) and node.func.id == "refused":
                given += node.args[:1]
            spelled += [f"{path.name}:{one.lineno}" for one in given if isinstance(one, ast.Constant | ast.JoinedStr)]
    assert spelled == [], "take these from page/reasons.py"


def test_pages_decide_by_reasons_that_exist() -> None:
    compared: set[str] = set()
    for path in (ROOT / "web" / "src").glob("*.ts"):
        compared |= set(re.findall(r"reason [!=]== \"([^\"]+)\"", path.read_text("utf-8")))
    assert "session live elsewhere" in compared
    assert sorted(compared - set(page_reasons.catalogue().values())) == []


# --- settings, commands, options ------------------------------------------------------------------------------------


def test_every_variable_of_ours_is_documented_and_exists() -> None:
    used = variables(SOURCE)
    assert "SWITCHBOARD_TRIGGERS_DIR" in used
    missing("environment variables", used, "configuration.md")
    listed = {span for span in code_spans(DOCS["configuration.md"]) if VARIABLE.fullmatch(span)}
    assert sorted(listed - used - variables(ROOT / "tests")) == [], (
        "docs/configuration.md lists these; nothing reads them"
    )


def test_every_variable_that_is_read_is_documented() -> None:
    asked = read_from_environment()
    assert "HOME" in asked
    missing("environment variables", asked - KEPT_BY_THE_SHELL, "configuration.md")


def test_every_variable_that_a_session_does_not_inherit_is_documented() -> None:
    missing("session markers", set(SESSION_MARKERS), "configuration.md")


def test_every_fault_of_the_built_in_agent_is_documented_and_exists() -> None:
    assert sorted(first_cells(section(DOCS["agent.md"], "Misbehaviour"))) == sorted(KNOWN_FAULTS)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_profile_is_documented_as_it_is(profile: CliProfile) -> None:
    row = re.search(rf"^\| `{profile.name}` \|(.*)\|$", DOCS["configuration.md"], re.MULTILINE)
    assert row, f"docs/configuration.md lacks the profile {profile.name}"
    _, idle, proof, resume, fork = (cell.strip() == "yes" for cell in row.group(1).split("|"))
    assert (idle, proof) == (profile.publishes, profile.publishes)
    assert (resume, fork) == (profile.starts.resume is not None, profile.starts.fork is not None)


def test_every_saved_setting_is_documented_and_exists() -> None:
    assert first_cells(section(DOCS["configuration.md"], "Saved settings")) == list(SETTINGS)


def test_every_command_is_documented() -> None:
    rows = section(DOCS["user-guide.md"], "All commands")
    lacking = [name for name in COMMANDS if not re.search(rf"^\| `switchboard {name}\b", rows, re.MULTILINE)]
    assert lacking == [], "docs/user-guide.md, section All commands, lacks these"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented_beside_its_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main([command, "--help"])
    options = set(OPTION.findall(capsys.readouterr().out)) - {"--help", "--version"}
    rows = re.split(r"^(?=\| `switchboard )", section(DOCS["user-guide.md"], "All commands"), flags=re.MULTILINE)
    own = DOCS.get(f"{command}.md", "") + "".join(row for row in rows if re.match(rf"\| `switchboard {command}\b", row))
    assert sorted(options - set(OPTION.findall(own))) == [], (
        f"docs/user-guide.md, at `switchboard {command}`, lacks these"
    )


def test_every_key_of_the_terminal_page_is_documented() -> None:
    keys = {key for names, _ in HELP for key in names.split() if key != "or"}
    assert "Enter" in keys
    missing("keys", keys, "user-guide.md")


def test_every_option_is_documented() -> None:
    options = {text for _, text in strings(SOURCE / "cli") if OPTION.fullmatch(text)}
    spans = " ".join(code_spans(DOCS["user-guide.md"]))
    fences = " ".join(re.findall(r"```.*?```", DOCS["user-guide.md"], re.DOTALL))
    documented = set(OPTION.findall(spans + fences))
    assert sorted(options - documented) == [], "docs/user-guide.md lacks these options"


# --- the documents themselves ---------------------------------------------------------------------------------------


def test_the_readme_names_the_two_commands() -> None:
    assert "make demo" in DOCS["README.md"]
    assert "make test" in DOCS["README.md"]


@pytest.mark.parametrize("name", sorted(DOCS))
def test_links_lead_somewhere(name: str) -> None:
    folder = ROOT if (ROOT / name).exists() else ROOT / "docs"
    for target in re.findall(r"\]\(([^)\s]+)\)", DOCS[name]):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (folder / path) if path else folder / name
        assert file.exists(), f"{name} links to {target}"
        if anchor:
            assert anchor in anchors(file.read_text("utf-8")), f"{name} links to {target}"


def anchors(text: str) -> set[str]:
    """The anchors that a forge gives to headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip().lower().replace(" ", "-") for title in titles}


def test_the_changelog_tells_of_this_version() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    newest = re.search(r"^## (\S+)", DOCS["CHANGELOG.md"], re.MULTILINE)
    assert version
    assert newest
    assert newest.group(1) in {version.group(1), "Unreleased"}


# --- the discovery finds what it is for -----------------------------------------------------------------------------


def test_strings_are_found_and_docstrings_are_not(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(
        '"""SWITCHBOARD_PROSE"""\nX = "SWITCHBOARD_READ"\ndef f():\n    "--prose"\n    g("--option")\n'
    )
    assert [text for _, text in strings(tmp_path)] == ["SWITCHBOARD_READ", "--option"]


def test_code_spans_are_found() -> None:
    assert code_spans("a `b` ``c ` d`` e\n| `f` |") == {"b", "c ` d", "f"}


def test_table_rows_are_found() -> None:
    text = "| `a` | b |\n|---|---|\n| `c` | d e |\n| f | |\n\ng\n"
    assert table_rows(text) == [["`c`", "d e"], ["f", ""]]
    assert table_rows("| a | | b |\n") == [["a", "", "b"]]


def test_schema_fields_are_found() -> None:
    assert schema_fields({"properties": {"a": {"properties": {"b": 1}}}, "oneOf": [{"properties": {"c": 1}}]}) == {
        *("a", "b", "c")
    }


def test_first_cells_are_found() -> None:
    assert first_cells("| `a` | `b` |\n| c | d |\n| `e` and `f` | g |\n") == ["a"]
