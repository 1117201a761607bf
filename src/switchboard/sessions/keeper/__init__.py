"""The keeper: a small process of its own that holds sessions, so that they outlive the host.

Imports the standard library, `switchboard.common` and itself only. Its protocol (`protocol.py`) and the layout of the
shared memory (`ring.py`) are frozen: a host of a later version must be able to adopt what an older keeper holds.
"""
