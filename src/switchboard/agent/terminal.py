"""`switchboard agent` in a terminal (driver): start, wiring, and every way it can end.

Order matters at the start. The terminal is made raw and reading begins before the descriptor appears, because whoever
sees a descriptor may type; the line editor, which takes longest to load, comes after that.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType

from switchboard import __version__
from switchboard.agent.descriptor import Descriptor
from switchboard.agent.descriptor_files import DescriptorFile
from switchboard.agent.faults import FaultError, FaultSwitch, parse_faults
from switchboard.agent.identity import own_identity
from switchboard.agent.layout import descriptor_path
from switchboard.agent.options import USAGE, Options, UsageError, parse_options
from switchboard.agent.publisher import Publisher
from switchboard.agent.shell import end_children
from switchboard.agent.start import Start, begin
from switchboard.agent.tty import Terminal, TerminalReader
from switchboard.common.settings import SettingsError, agent_home
from switchboard.common.system_clock import SystemClock

STDIN, STDOUT = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent. Returns its exit code: 0, 1 when it cannot start, 2 for a wrong command line."""
    try:
        options = parse_options(sys.argv[1:] if argv is None else argv)
        if options.help or options.version:
            print(USAGE if options.help else __version__)  # the answer to the command line
            return 0
        return _start(options, os.environ)
    except UsageError as error:
        return _refuse(str(error), error.code)
    except (FaultError, SettingsError) as error:
        return _refuse(str(error), 1)
    except OSError as error:
        return _failed(error)
    except ExceptionGroup as group:
        return _failed(group.exceptions[0])


def _refuse(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"Error: {message}\n")
    return code


def _failed(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno == errno.EIO:
        return 0  # the terminal is gone, and nobody is left to tell
    if isinstance(error, OSError) and error.filename:
        return _refuse(f"{error.strerror}: {error.filename}", 1)
    return _refuse(f"{type(error).__name__}: {error}", 1)


def _start(options: Options, env: Mapping[str, str]) -> int:
    faults = FaultSwitch(parse_faults(env.get("SWITCHBOARD_AGENT_FAULTS", "")))
    if options.cwd is not None:
        os.chdir(options.cwd)
    cwd, home = os.getcwd(), os.path.abspath(agent_home(env))
    start = begin(options, home, cwd, __version__)
    if not (os.isatty(STDIN) and os.isatty(STDOUT)):
        raise UsageError("the agent needs a terminal. Run it in one, or let 'switchboard up' start it.", 1)
    if "exit-at-start" in faults():
        sys.stdout.write("\x1b[?1049h\x00\x1b]0;\x07garbage \x1b[31m\n")
        return faults().get("exit-at-start")
    clock = SystemClock()
    terminal, reader = Terminal(STDIN, STDOUT), TerminalReader(STDIN, clock.now, lambda: faults().get("slow-read"))
    file = DescriptorFile(descriptor_path(home, os.getpid()))
    descriptor = Descriptor(own_identity(), start.conversation.session_id, cwd, clock.now(), __version__)
    publisher = Publisher(file, descriptor, clock, faults)
    try:
        _end_on_signals(terminal, publisher, faults)
        # A fault to try the product with: the whole process is late, as one on a busy machine, and nothing runs yet.
        time.sleep(faults().get("slow-start") / 1000)
        terminal.enter()
        reader.start()
        return asyncio.run(_run(start, home, env, clock, faults, publisher, reader))
    finally:
        publisher.close()
        end_children()
        terminal.leave()


async def _run(
    start: Start,
    home: str,
    env: Mapping[str, str],
    clock: SystemClock,
    faults: FaultSwitch,
    publisher: Publisher,
    reader: TerminalReader,
) -> int:
    if not ("late-descriptor" in faults() or "trust-dialog" in faults()):
        publisher.appear()
        if publisher.failure is not None:
            raise publisher.failure
    # Imported here: what is typed while it loads is kept, and the descriptor is there already.
    from switchboard.agent.interactive import run_interactive

    return await run_interactive(start, home, env, clock, faults, publisher, reader)


def _end_on_signals(terminal: Terminal, publisher: Publisher, faults: FaultSwitch) -> None:
    """End at once when asked to, as the measured CLI does: 143 for SIGTERM, 129 for SIGHUP, 0 for SIGINT.

    Not through the event loop: it may be held up by a terminal that nobody reads.
    """

    def end(number: int, _: FrameType | None) -> None:
        if number == signal.SIGTERM and "ignore-sigterm" in faults():
            return
        publisher.close()
        end_children()
        terminal.leave()
        os._exit(0 if number == signal.SIGINT else 128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, end)
