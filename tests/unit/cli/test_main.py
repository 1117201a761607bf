"""The command line itself: every subcommand has help, unknown ones are said, no traceback."""

import importlib

import pytest

from switchboard import __version__
from switchboard.cli.main import COMMANDS, main


def outcome(*arguments: str) -> object:
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(command, "--help") == 0
    assert f"switchboard {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_unknown_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(command, "--no-such-option") == 2
    assert f"usage: switchboard {command}" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_module(command: str) -> None:
    assert callable(importlib.import_module(f"switchboard.cli.{command}").main)


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"switchboard {__version__}\n"


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["nonesuch"])
    assert ended.value.code == 2
    assert "unknown command 'nonesuch'; known: up" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["0.0.0.0", "192.168.1.5", "example.org", "::"])
def test_only_loopback_is_served_to_who_asks_for_nothing_else(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--host", address]) == 1
    assert "--host" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["x", "-1", "65536", "1.5"])
def test_a_port_must_be_one(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["up", "--port", port])
    assert ended.value.code == 2
    assert "port" in capsys.readouterr().err
