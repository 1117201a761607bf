"""What the parts of a plan share while it is being made (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from switchboard.sandbox.protect import Protection
from switchboard.sandbox.table import Table

if TYPE_CHECKING:
    from switchboard.sandbox.host_files import PlanFiles
    from switchboard.sandbox.policy import Findings, SandboxRequest


@dataclass(frozen=True, slots=True)
class Planning:
    """What is wanted, the mounts so far, the host's files, what turned up beside, and what keeps things as they are."""

    request: SandboxRequest
    table: Table
    files: PlanFiles
    findings: Findings
    protection: Protection
