"""A message, as its handler sees it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Callable, Mapping, Optional, Union

Text = Union[str, bytes]  # bytes where it is no UTF-8


class Message:
    """One attempt at one message.

    id, group   text, or bytes where they are no UTF-8
    body        its bytes; ``text`` is the same as text, and raises UnicodeDecodeError where it is none
    headers     by name; of two with one name the first
    attempt     1 at the first
    number      within its group, where it has one
    time        when it was sent
    token       the term's fencing token
    deadline    until when it has to be answered, where there is a limit
    state       the values of the keys that the handler has named; None: no such key
    """

    def __init__(
        self,
        *,
        id: Text,
        body: bytes = b"",
        group: Text = "",
        headers: Optional[Mapping[str, Text]] = None,
        attempt: int = 1,
        number: Optional[int] = None,
        time: Optional[datetime] = None,
        token: int = 0,
        deadline: Optional[datetime] = None,
        state: Optional[Mapping[str, Optional[bytes]]] = None,
        progress: Optional[Callable[[], None]] = None,
    ) -> None:
        self.id = id
        self.group = group
        self.body = body
        self.headers: Mapping[str, Text] = dict(headers or {})
        self.attempt = attempt
        self.number = number
        self.time = time
        self.token = token
        self.deadline = deadline
        self.state: Mapping[str, Optional[bytes]] = dict(state or {})
        self._progress = progress

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    def progress(self) -> None:
        """Says that the handler comes further: its deadline counts from here."""
        if self._progress is not None:
            self._progress()

    def __repr__(self) -> str:
        return f"Message(id={self.id!r}, attempt={self.attempt}, {len(self.body)} bytes)"


def value_of(raw: Any, body: bytes) -> Text:
    """Text of a frame: a string, or {"bytes": [from, length]} of its body."""
    if isinstance(raw, str):
        return raw
    begin, length = raw["bytes"]
    return body[begin : begin + length]
