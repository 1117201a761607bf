"""Switchboard: one host for coding-agent sessions that people, scripts and other agents can reach."""

__version__ = "0.1.0"
