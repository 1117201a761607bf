"""An upgrade from one build to the next: the new host adopts what the old one's keeper holds."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.hosting import RunningHost, page

import switchboard
from switchboard.page import messages


async def test_the_next_build_adopts_the_sessions_of_the_one_before(tmp_path: Path) -> None:
    source = Path(switchboard.__file__).parent
    build = tmp_path / "next"
    shutil.copytree(source, build / "switchboard", ignore=shutil.ignore_patterns("__pycache__"))
    version = build / "switchboard" / "__init__.py"
    version.write_text(version.read_text().replace(switchboard.__version__, "99.0.0"))
    host = RunningHost(tmp_path).start()
    try:
        async with page(host) as shown:
            handle = await shown.open(host)
            before = await shown.status(handle, "idle")
            shown.type(handle, b"[print 500 lines]\r")
            await shown.status(handle, "busy")
            await shown.status(handle, "idle")
            shown.type(handle, b"draft")
            await shown.once(lambda: shown.sessions[handle].draft, "the draft")
            text, position = bytes(shown.output[handle]), shown.next_seq[handle]
        host.terminate()
        host.environment["PYTHONPATH"] = str(build)
        host.start()
        async with page(host) as shown:
            welcome = await shown.heard(lambda message: isinstance(message, messages.Welcome), "the welcome")
            assert welcome.version == "99.0.0"
            after = shown.sessions[handle]
            assert (after.pid, after.generation, after.id) == (before.pid, before.generation, before.id)
            assert after.draft
            assert after.status == "idle"
            shown.say(messages.Attach(handle, 0))
            shown.say(messages.Focus(handle, 120, 40))
            await shown.once(lambda: shown.next_seq.get(handle, 0) >= position, "the replay")
            replayed = bytes(shown.output[handle])[: len(text)]
            assert len(replayed) == len(text)
            assert [a for a, b in zip(replayed, text, strict=True) if a != b and a != 0] == []
            shown.type(handle, b"\x15")
            result = await host.result(host.trigger({"sessionId": after.id, "command": "upgraded?", "wait": "idle"}))
            assert result["submitted"] == "confirmed"
            tty = os.readlink(f"/proc/{after.pid}/fd/0")
            subprocess.run(["test", "-c", tty], check=True)
    finally:
        host.clean_up()
