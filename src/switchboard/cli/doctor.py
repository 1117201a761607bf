"""`switchboard doctor`: what is found, what is missing, what to do."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from switchboard import __version__
from switchboard.cli.finding import Finding
from switchboard.cli.output import can_show
from switchboard.cli.reach import explain, host_data_dir, socket_path
from switchboard.cli.sandbox_check import sandbox_findings
from switchboard.clis.descriptor_files import scan_descriptors
from switchboard.clis.descriptors import Descriptor
from switchboard.clis.liveness import Resolved
from switchboard.clis.namespace_resolver import NamespaceResolver, maps_to_nobody
from switchboard.clis.procfs import ProcFs
from switchboard.clis.profiles import AGENT, PROFILES
from switchboard.common.settings import SettingsError, TriggerSettings
from switchboard.host.instance import living_host, read_record
from switchboard.host.lifecycle import sandbox_homes
from switchboard.host.sandbox_folders import SandboxFolders
from switchboard.page.local_client import HostForeign, HostRefused, HostSilent, HostUnavailable, request
from switchboard.page.messages import Listing, ListSessions
from switchboard.sessions.environment import SESSION_MARKERS
from switchboard.sessions.keeper.folder import lock_owner
from switchboard.sessions.keeper_start import is_stopped
from switchboard.triggers.room import Room

VERSION_SECONDS = 10.0
_RESTART = "end it with SIGTERM and start it again: sessions go on meanwhile"

MIN_INOTIFY_INSTANCES = 128
MIN_INOTIFY_WATCHES = 8192


def main(argv: Sequence[str]) -> int:
    """Return 0 when nothing stands in the way of working, 1 when something does."""
    parser = argparse.ArgumentParser(
        prog="switchboard doctor", description="Say what is found, missing, and to be done."
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array of findings")
    options = parser.parse_args(argv)
    findings = list(examine(os.environ))
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        arrow = "→" if can_show("→") else "->"
        for finding in findings:
            print(f"{finding.level:<8} {finding.text}")
            if finding.remedy:
                print(f"{'':<8} {arrow} {finding.remedy}")
    return 1 if any(finding.level == "problem" for finding in findings) else 0


def examine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at everything that a host, a session and a trigger need."""
    yield Finding("ok", f"Switchboard {__version__} on Python {sys.version.split()[0]} ({sys.executable})")
    if not sys.platform.startswith("linux"):
        yield Finding("note", "This is not Linux: what is known of other processes is weaker here, and less tested")
    try:
        yield from _data_directory(environment)
        yield from _host(environment)
        yield from _keeper(environment)
        yield from _triggers(environment)
        yield from _descriptors(environment)
    except SettingsError as error:
        yield Finding("problem", str(error), "set HOME, or the variables in docs/configuration.md")
    yield from _watching()
    yield from _programs(environment)
    inherited = sorted(SESSION_MARKERS & environment.keys())
    if inherited:
        yield Finding(
            "note", f"This shell runs inside an agent session ({', '.join(inherited)}); sessions do not inherit that"
        )


def _data_directory(environment: Mapping[str, str]) -> Iterator[Finding]:
    path = host_data_dir(environment)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        yield Finding("ok", f"Data directory {path}: not there yet, made by the first `switchboard up`")
        return
    except OSError as error:
        yield Finding("problem", f"Data directory {path}: {error.strerror}", "choose another with SWITCHBOARD_DATA_DIR")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield Finding("problem", f"Data directory {path} is not a folder", "move it away, or set SWITCHBOARD_DATA_DIR")
    elif found.st_uid != os.geteuid():
        yield Finding(
            "problem", f"Data directory {path} belongs to another user", "choose one with SWITCHBOARD_DATA_DIR"
        )
    elif found.st_mode & 0o022:
        yield Finding("problem", f"Data directory {path} can be written by other users", f"chmod go-w {path}")
    elif (obstacle := Room(path).obstacle()) is not None:
        text = f"Data directory: nothing can be written down there (sessions opened, settings, the log): {obstacle}"
        yield Finding("problem", text, f"`df {path}` shows the disk; what runs goes on")
    else:
        yield Finding("ok", f"Data directory {path}")


def _host(environment: Mapping[str, str]) -> Iterator[Finding]:
    path = socket_path(environment)
    try:
        answer = request(path, ListSessions(1, 0), timeout=5)
    except HostForeign as error:
        yield Finding(
            "problem",
            f"Host: {error}",
            f"see whose it is with `ls -ld {os.path.dirname(path)}`, and choose another SWITCHBOARD_DATA_DIR",
        )
    except HostUnavailable as error:
        text = explain(error, environment)
        if text == str(error):
            yield Finding("note", f"Host: {error}", "switchboard up")
        else:
            yield Finding("problem", f"Host: {text}")
    except HostSilent as error:
        record = read_record(host_data_dir(environment))
        if record is not None and is_stopped(record.pid):
            yield Finding("problem", f"Host: its process {record.pid} is stopped", f"kill -CONT {record.pid}")
        else:
            yield Finding("problem", f"Host: {error}", _RESTART)
    except HostRefused as error:
        yield Finding("problem", f"Host: {error}", _RESTART)
    else:
        count = len(answer.sessions) if isinstance(answer, Listing) else 0
        yield Finding("ok", f"Host is running at {path} with {count} sessions")


def _keeper(environment: Mapping[str, str]) -> Iterator[Finding]:
    pid = lock_owner(os.path.dirname(socket_path(environment)))
    if pid is None:
        return  # there is one while there is a host or a session
    if is_stopped(pid):
        text = f"Session keeper: its process {pid} is stopped, so that no session can be opened"
        yield Finding("problem", text, f"kill -CONT {pid}")
    else:
        yield Finding("ok", f"Session keeper is running (process {pid})")


def _triggers(environment: Mapping[str, str]) -> Iterator[Finding]:
    """What is seen of the folder from here, and where that is well, what the running host has to say."""
    findings = list(_trigger_folder(environment))
    yield from findings
    data_dir = host_data_dir(environment)
    record = read_record(data_dir)
    if record is None or record.problem is None or any(finding.level == "problem" for finding in findings):
        return
    if living_host(data_dir) is not None:
        text = f"Triggers: the running host (process {record.pid}) says: {record.problem}"
        yield Finding("problem", text, "it sees other folders than you where its SWITCHBOARD_TRIGGERS_DIR differs")


def _trigger_folder(environment: Mapping[str, str]) -> Iterator[Finding]:
    path = os.path.abspath(TriggerSettings(environment).triggers_dir)
    processed = os.path.join(path, "processed")
    if not os.path.lexists(path):
        yield Finding("ok", f"Trigger folder {path}: not there yet, made by the first `switchboard up`")
        return
    if not os.path.isdir(path):
        yield Finding(
            "problem", f"Trigger folder {path} is not a folder", "move it away, or set SWITCHBOARD_TRIGGERS_DIR"
        )
        return
    if os.path.islink(path):
        yield Finding("note", f"Trigger folder {path} is a symbolic link to {os.path.realpath(path)}")
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        text = f"Trigger folder {path} is on a disk that can only be read"
        yield Finding("problem", text, "make that disk writable, or set SWITCHBOARD_TRIGGERS_DIR")
        return
    writable = os.access(path, os.R_OK | os.W_OK | os.X_OK)
    if not writable or (os.path.isdir(processed) and not os.access(processed, os.W_OK | os.X_OK)):
        yield Finding(
            "problem",
            f"Trigger folder {path} or its processed/ cannot be read and written",
            f"chmod u+rwx {path} {processed}",
        )
        return
    if os.stat(path).st_mode & 0o002:
        text = f"Trigger folder {path} can be written by everyone: they could type into your sessions"
        yield Finding("problem", text, f"chmod go-w {path}")
    waiting = sum(name.endswith(".json") for name in os.listdir(path))
    yield from _results(path, processed)
    yield Finding("ok", f"Trigger folder {path}" + (f", {waiting} requests waiting" if waiting else ""))


def _refused_trial(room: Room, folder: str) -> str | None:
    """What a written file finds out: quotas say nothing beforehand. A folder that is missing is not made for that."""
    if not os.path.isdir(folder):
        return None
    failure = room.try_out(f".doctor-{os.getpid()}.tmp")
    return None if failure is None else f"{folder} takes no file ({failure.strerror or failure}): make room there"


def _results(folder: str, processed: str) -> Iterator[Finding]:
    room = Room(processed)
    obstacle = room.obstacle() or _refused_trial(room, processed)
    if obstacle is not None:
        text = f"Results of triggers cannot be published, so requests wait: {obstacle}"
        yield Finding("problem", text, "the host goes on with them by itself when that is mended")
    stems = (name.removesuffix(".json") for name in os.listdir(folder) if name.endswith(".json"))
    unnameable = [stem for stem in stems if not room.takes(stem)]
    if unnameable:
        others = f" (and {len(unnameable) - 1} more)" if len(unnameable) > 1 else ""
        yield Finding(
            "problem",
            f"Trigger {unnameable[0]}.json{others} is left alone: no result can be named after it",
            f"rename it to at most {room.longest_stem()} bytes and .json",
        )


def _descriptors(environment: Mapping[str, str]) -> Iterator[Finding]:
    processes = ProcFs()
    for profile in PROFILES.values():
        folder = profile.sessions_dir(environment)
        if folder is None or not os.path.isdir(folder):
            continue
        scan = scan_descriptors(folder)
        if scan.unreadable:
            yield Finding("note", f"{profile.title}: {scan.unreadable}", "see who writes that file; it hides a session")
        stale = _in_no_sandbox(
            processes, [(name, one) for name, one in scan.found if not processes.is_same(one.pid, one.proc_start)]
        )
        for name, one in stale[:10]:
            yield Finding(
                "note",
                f"{profile.title}: {folder}/{name} names session {one.session_id}, whose process has ended",
                "delete the file if that session runs nowhere else (in a container, say)",
            )
        if len(stale) > 10:
            yield Finding("note", f"{profile.title}: {len(stale) - 10} more such files in {folder}")
    folders = SandboxFolders(host_data_dir(environment), sandbox_homes(environment), partial(maps_to_nobody, processes))
    for note, folder in folders.lost():
        text = f"Sandboxes: {note} says that a session has its descriptors in {folder}, which is not there"
        yield Finding("note", text, "delete the note if that session runs nowhere else (in a container, say)")
    stuck = dict(folders.stuck())
    for folder, why in stuck.items():
        text = f"Sandboxes: {folder} of an ended session cannot be removed: {why}"
        yield Finding("problem", text, "remove it as root")
    left = [folder for folder in folders.left() if folder not in stuck]
    if left:
        others = f" and {len(left) - 1} more" if len(left) > 1 else ""
        yield Finding(
            "note",
            f"Sandboxes: {left[0]}{others} of ended sessions are left",
            "the next start of the host removes them",
        )


def _in_no_sandbox(processes: ProcFs, found: list[tuple[str, Descriptor]]) -> list[tuple[str, Descriptor]]:
    """Leave out what a process of a sandbox has written: seen from in there, it has another number."""
    search = NamespaceResolver(processes).search([one for _, one in found], processes.vantage())
    for _ in search.run() if found else ():
        pass
    return [(name, one) for name, one in found if not isinstance(search.found(one), Resolved)]


def _watching() -> Iterator[Finding]:
    if not sys.platform.startswith("linux"):
        return
    for name, least in (("max_user_instances", MIN_INOTIFY_INSTANCES), ("max_user_watches", MIN_INOTIFY_WATCHES)):
        try:
            with open(f"/proc/sys/fs/inotify/{name}", encoding="ascii") as file:
                limit = int(file.read())
        except (OSError, ValueError):
            continue
        if limit < least:
            yield Finding(
                "note", f"inotify {name} is {limit}: other programs may use it up", f"sysctl fs.inotify.{name}={least}"
            )


def _programs(environment: Mapping[str, str]) -> Iterator[Finding]:
    found_any = False
    for profile in PROFILES.values():
        if profile.name == AGENT.name or profile.kind != "agent":
            continue
        command = profile.command(environment, sys.executable)[0]
        path = shutil.which(command, path=environment.get("PATH"))
        if path is None:
            if profile.program_variable and environment.get(profile.program_variable):
                text = f"{profile.title}: {profile.program_variable} names {command}, which is no program"
                yield Finding("problem", text, f"correct {profile.program_variable}, or unset it")
            continue
        found_any = True
        yield Finding("ok", f"{profile.title}: {path} {_version(path, environment)}".rstrip())
        for caution in profile.cautions:
            yield Finding("note", caution)
    if shutil.which("claude", path=environment.get("PATH")) is None and not environment.get("SWITCHBOARD_CLAUDE"):
        yield Finding(
            "note",
            "Claude Code was not found",
            "install it, or set SWITCHBOARD_CLAUDE to its path; the built-in agent works without it",
        )
    if not found_any:
        yield Finding("ok", "The built-in agent is always there: `switchboard demo` shows it")
    if sys.platform.startswith("linux"):
        yield from sandbox_findings(environment)


def _version(path: str, environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "(does not answer --version)"
    line = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
    return f"({line[:60]})" if line else ""
