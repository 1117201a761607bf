"""How the browser page is served (pure). Apart from the server, which is slow to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebConfig:
    """Where to serve what. `port` None: the one of the last host if it is free, else any."""

    static: str
    address: str = "127.0.0.1"
    port: int | None = None
    standing: str | None = None
    """Hash of the standing credential; a server beyond loopback has one."""
    stranger_seconds: float = 15.0
    """From the begin of a connection that is no page's to the end of its last answer. A page is there within one."""
