"""Starts a host whose pages have half a second to answer: `RunningHost.launcher` for tests in which one does not."""

from __future__ import annotations

import sys

from switchboard.cli.main import main
from switchboard.page import hub

if __name__ == "__main__":
    hub.PING_MS = hub.PONG_MS = 500
    sys.exit(main(sys.argv[sys.argv.index("up") :]))
