"""What the messages of pages and host are made of: their base, and texts and numbers with their limits (pure)."""

from __future__ import annotations

from typing import Annotated

import msgspec

Text = Annotated[str, msgspec.Meta(max_length=4096)]
Path = Annotated[str, msgspec.Meta(max_length=4096)]
RequestId = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Handle = Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)]
SessionKey = Annotated[str, msgspec.Meta(max_length=128)]
Permit = Annotated[str, msgspec.Meta(max_length=64)]
Generation = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Columns = Annotated[int, msgspec.Meta(ge=2, le=1000)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """Anything that page and host say to each other, told apart by its `type`."""
