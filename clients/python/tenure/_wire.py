"""Frames: two lengths of 32 bits in network order, a head in JSON, a raw body. The page of the wire tells the rest."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, Dict, Optional, Tuple

VERSION = 1
LARGEST = 16 << 20  # head and body together

_LENGTHS = struct.Struct("!II")
Head = Dict[str, Any]


class WireError(Exception):
    """The other end does not speak as it should."""


class Wire:
    """One connection. Threads: one reads, one writes."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    @classmethod
    def connect(cls, path: str) -> "Wire":
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        return cls(connection)

    def send(self, head: Head, body: bytes = b"") -> None:
        text = json.dumps(head, ensure_ascii=False, allow_nan=False).encode("utf-8")
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
        parsed = json.loads(text)
        if not isinstance(parsed, dict):
            raise WireError("the head of a frame is no object")
        return parsed, self._exactly(body) or b""

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, count: int, at_start: bool = False) -> Optional[bytes]:
        data = bytearray()
        while len(data) < count:
            some = self._socket.recv(count - len(data))
            if not some:
                if at_start and not data:
                    return None
                raise WireError("the connection ends within a frame")
            data += some
        return bytes(data)
