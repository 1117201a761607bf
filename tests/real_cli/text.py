"""Prompts in which a fault shows."""

from __future__ import annotations


def exact_prompt(length: int) -> str:
    """Text in which a lost, doubled or swapped piece shows: numbered words, no blank at either end."""
    words = "".join(f"word{number:05d} " for number in range(length // 10 + 1))
    return words[: length - 1] + "."
