from __future__ import annotations

import pytest

from switchboard.agent.options import Options, UsageError, is_uuid, parse_options

U = "0f0e0d0c-0b0a-4908-8706-050403020100"
V = "1f0e0d0c-0b0a-4908-8706-050403020100"


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        ([], Options()),
        (["--session-id", U], Options(session_id=U)),
        ([f"--session-id={U}"], Options(session_id=U)),
        (["--session-id", U.upper()], Options(session_id=U.upper())),
        (["--resume", U], Options(resume=U)),
        (["-r", U], Options(resume=U)),
        (["--resume", U, "--fork-session"], Options(resume=U, fork=True)),
        (["--resume", U, "--fork-session", "--session-id", V], Options(resume=U, fork=True, session_id=V)),
        (["--cwd", "/tmp"], Options(cwd="/tmp")),
        (["--help"], Options(help=True)),
        (["--version", "--session-id", "x"], Options(version=True, session_id="x")),
    ],
)
def test_what_is_understood(argv: list[str], options: Options) -> None:
    assert parse_options(argv) == options


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        (["--session-id", "x"], 1, "Invalid session ID. Must be a valid UUID."),
        (["--session-id", U + "\n"], 1, "Invalid session ID. Must be a valid UUID."),
        (["--resume", "x"], 1, "takes a session ID"),
        (["--resume", U, "--session-id", V], 1, "only together with --fork-session"),
        (["--fork-session"], 2, "together with --resume"),
        (["--session-id"], 2, "--session-id needs a value"),
        (["--what"], 2, "unknown argument '--what'"),
        (["hello"], 2, "unknown argument 'hello'"),
        (["--help=yes"], 2, "unknown argument '--help'"),
    ],
)
def test_what_is_refused(argv: list[str], code: int, text: str) -> None:
    with pytest.raises(UsageError, match=text) as refusal:
        parse_options(argv)
    assert refusal.value.code == code


@pytest.mark.parametrize("text", ["", "x", U[:-1], U + "0", U.replace("-", "")])
def test_what_is_no_uuid(text: str) -> None:
    assert is_uuid(U)
    assert not is_uuid(text)
