"""Values of SQL parameters, as the wire has them."""

from __future__ import annotations

import json
import math
import uuid
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_LEAST = -(2**63)
_MOST = 2**63 - 1


class Pieces:
    """The raw body of a frame, and where its pieces are."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> list[int]:
        place = [self._size, len(data)]
        self._parts.append(data)
        self._size += len(data)
        return place

    def joined(self) -> bytes:
        return b"".join(self._parts)


def encoded(name: str, value: Any, pieces: Pieces) -> Any:
    """The value of one parameter. Raises TypeError or ValueError, which name the parameter."""
    if value is None:
        return None
    if isinstance(value, bool):
        return {"int": "1" if value else "0"}
    if isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            raise ValueError(f"parameter {name}: an integer of more than 64 bits")
        return {"int": str(value)}
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"parameter {name}: {value} is no finite number")
        return {"real": value}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": pieces.add(bytes(value))}
    if isinstance(value, (Decimal, uuid.UUID)):
        return {"text": str(value)}
    if isinstance(value, (datetime, date)):
        return {"text": value.isoformat()}
    if isinstance(value, (dict, list)):
        return {"text": json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))}
    raise TypeError(f"parameter {name}: {type(value).__name__} is no value of SQL")
