"""`python -m switchboard.agent`."""

import sys

from switchboard.agent.terminal import main

sys.exit(main())
