"""What the messages of pages and host are made of: their base, and texts and numbers with their limits (pure)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from switchboard.common.ecma import to_well_formed

Text = Annotated[str, msgspec.Meta(max_length=4096)]
Path = Annotated[str, msgspec.Meta(max_length=4096)]
RequestId = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Handle = Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)]
SessionKey = Annotated[str, msgspec.Meta(max_length=128)]
Permit = Annotated[str, msgspec.Meta(max_length=64)]
Generation = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Columns = Annotated[int, msgspec.Meta(ge=2, le=1000)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=1000)]


def well_formed(value: Any) -> Any:
    """Return a message's plain values with U+FFFD for what cannot be written as UTF-8."""
    if isinstance(value, str):
        return to_well_formed(value)
    if isinstance(value, dict):
        return {key: well_formed(one) for key, one in value.items()}
    return [well_formed(one) for one in value] if isinstance(value, list) else value


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """Anything that page and host say to each other, told apart by its `type`."""
