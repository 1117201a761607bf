"""A session as pages show it (pure)."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from switchboard.common.facts import CliStatus, Facts
from switchboard.common.names import display_name
from switchboard.page.messages import ExitStatus, SessionInfo
from switchboard.sessions.activity import TITLE_RULES
from switchboard.sessions.keeper_client import ExitReport
from switchboard.sessions.session import Session

ENDED = (0, 129, 130, 143)
"""Exit codes of a program that ended as it was asked to: by itself, or on SIGHUP, SIGINT or SIGTERM."""


def status_word(session: Session) -> str:
    """Return the one word for what a session is doing."""
    facts = session.facts.value
    if session.exit is not None:
        return "exited" if _ended_as_asked(session.exit) else "failed"
    status = _published(facts)
    if status is not None and status.status is not None:
        return status.status
    if facts.starting:
        return "starting"
    if facts.busy:
        return "busy"
    # A CLI that publishes a descriptor and has none now: nothing is known. Others never say.
    return "unknown" if session.profile.publishes else "running"


def _published(facts: Facts) -> CliStatus | None:
    """What its CLI publishes; of one in a sandbox, while that is proven to be its own."""
    return facts.proven if facts.status is None else facts.status


def _ended_as_asked(report: ExitReport) -> bool:
    if report.signal is not None:
        return report.signal in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    return report.code is None or report.code in ENDED


def session_called(sessions: Iterable[Session], session_id: str) -> str | None:
    """Return what a person knows the session of this id by, which it has or had; None: it has no name, or is unknown.

    Of several the one that is open, else the newest.
    """
    wanted = session_id.lower()
    found = [session for session in sessions if wanted == session.key or wanted in session.label.past]
    if not found:
        return None
    info = session_info(max(found, key=lambda one: (one.exit is None, one.key == wanted, one.generation)))
    return info.name or info.title


def session_info(session: Session) -> SessionInfo:
    """Return what pages and `switchboard ls` show of a hosted session."""
    label, facts, ended = session.label, session.facts.value, session.exit
    status = _published(facts)
    return SessionInfo(
        id=session.key,
        state="open" if ended is None else "exited",
        cli=session.profile.name,
        status=status_word(session),
        handle=session.handle,
        generation=session.generation,
        kind=session.profile.kind,
        name=display_name(label.name),
        title=display_name(TITLE_RULES[session.profile.title_rule].name(session.screen.activity.title)),
        project=label.project or label.cwd,
        cwd=label.cwd,
        pid=session.pid,
        waiting_for=display_name(status.waiting_for) if status else None,
        status_since=status.updated_at if status else None,
        opened_at=label.launched_at,
        columns=label.columns,
        rows=label.rows,
        draft=facts.composer is None or facts.composer.pending > 0,
        attention=session.screen.activity.attention,
        exit=None if ended is None else ExitStatus(ended.code, ended.signal),
        opened_by="trigger" if label.opened_by == "trigger" else None,
        sandbox=label.sandbox,
        cli_version=display_name(facts.status.cli_version) if facts.status else None,
    )
