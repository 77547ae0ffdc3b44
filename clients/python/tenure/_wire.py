"""Frames: two lengths of 32 bits in network order, a head in JSON, a raw body. The page of the wire tells the rest."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, Dict, Optional, Tuple

VERSION = 1
LARGEST = 16 << 20  # head and body together

_LENGTHS = struct.Struct("!II")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
Head = Dict[str, Any]


class WireError(ValueError):
    """The other end does not speak as it should."""


class Wire:
    """One connection. Threads: one reads, one writes."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = b""
        self._from = 0

    @classmethod
    def connect(cls, path: str) -> "Wire":
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        return cls(connection)

    def send(self, head: Head, body: bytes = b"") -> None:
        try:
            text = _encode(head).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a text with half of a surrogate pair") from None
        if len(text) + len(body) > LARGEST:
            raise WireError(f"a frame of {len(text) + len(body)} bytes: at most {LARGEST} are allowed")
        self._socket.sendall(_LENGTHS.pack(len(text), len(body)) + text + body)

    def receive(self) -> Optional[Tuple[Head, bytes]]:
        """None: the other end has closed, between two frames."""
        lengths = self._exactly(_LENGTHS.size, at_start=True)
        if lengths is None:
            return None
        head, body = _LENGTHS.unpack(lengths)
        if head + body > LARGEST:
            raise WireError(f"a frame of {head + body} bytes: at most {LARGEST} are allowed")
        text = self._exactly(head) or b""
        parsed = json.loads(text.decode("utf-8"))
        if not isinstance(parsed, dict):
            raise WireError("the head of a frame is no object")
        return parsed, (self._exactly(body) or b"") if body > 0 else b""

    def end(self) -> None:
        """Nothing is sent any more. For at most five seconds, more can be received."""
        self._socket.settimeout(5)
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, count: int, at_start: bool = False) -> Optional[bytes]:
        """One call of the system brings many small frames."""
        end = self._from + count
        if end > len(self._buffer):
            parts = [self._buffer[self._from :]]
            size = len(parts[0])
            while size < count:
                some = self._socket.recv(max(count - size, 1 << 16))
                if not some:
                    if at_start and size == 0:
                        return None
                    raise WireError("the connection ends within a frame")
                parts.append(some)
                size += len(some)
            self._buffer, self._from, end = b"".join(parts), 0, count
        data = self._buffer[self._from : end]
        self._from = end
        return data
