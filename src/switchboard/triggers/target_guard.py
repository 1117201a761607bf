"""Finding the session a request means, and making sure that it is the one (driver): the last checks before delivery."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import normpath

from switchboard.delivery import reasons
from switchboard.delivery.port import Target, Terminals
from switchboard.triggers.legacy_schema import LegacyRequest
from switchboard.triggers.results import Result, refused


def same_directory(expected: str, actual: str) -> bool:
    """Compare two paths as text: normalised, one trailing separator aside. Letter case counts, links do not."""
    return _normal(expected) == _normal(actual)


def _normal(path: str) -> str:
    # POSIX lets `//x` mean something of its own, and `normpath` keeps it; the contract's normalisation does not.
    return normpath("/" + path.lstrip("/") if path.startswith("/") else path)


def find_target(terminals: Terminals, request: LegacyRequest) -> Target | Result:
    """Return the session's terminal, or the result that refuses the request."""
    target = terminals.find(request.session_id)
    if target is None or not target.facts.value.present:
        hosts = terminals.remote_hosts(request.session_id)
        if hosts:
            return _refused(reasons.NOT_SENT, request, _remote_fields(hosts), _remote_reason(request, hosts))
        job = terminals.background_job(request.session_id)
        if job is not None:
            return _refused(reasons.BACKGROUND, request, {"jobId": job})
        return _refused(reasons.NOT_FOUND, request, {})
    if not target.is_alive():
        return _refused(reasons.NOT_RUNNING, request, {})
    if target.is_outlived():
        return _refused(reasons.NOT_RUNNING, request, {}, reasons.OUTLIVED)
    if request.expected_cwd is None:
        return target
    return _wrong_directory(request, target) or target


def _refused(error: str, request: LegacyRequest, fields: Result, reason: str | None = None) -> Result:
    return refused(error, reason, request.steps_total, {**fields, "sessionId": request.session_id})


def _remote_reason(request: LegacyRequest, hosts: Sequence[str]) -> str:
    if request.chain:
        return reasons.REMOTE_CHAIN
    return reasons.remote_ambiguous(", ".join(hosts)) if len(hosts) > 1 else reasons.REMOTE


def _remote_fields(hosts: Sequence[str]) -> Result:
    return {"host": hosts[0]} if len(hosts) == 1 else {}


def _wrong_directory(request: LegacyRequest, target: Target) -> Result | None:
    expected, observed = request.expected_cwd, target.cwd
    if expected is None or (observed is not None and same_directory(expected, observed)):
        return None
    unknown = observed is None
    return refused(
        reasons.NOT_SENT,
        reasons.CWD_UNKNOWN if unknown else reasons.CWD_DIFFERS,
        request.steps_total,
        {
            "targetCwdUnknown" if unknown else "targetMismatch": True,
            "expectedCwd": expected,
            "observedCwd": observed,
            "sessionId": request.session_id,
        },
    )
