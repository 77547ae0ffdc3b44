"""What a handler answers: an outcome, and with Done the effects that are committed with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Mapping, Optional, Sequence, Union

Body = Union[str, bytes]
Headers = Mapping[str, str]


@dataclass(frozen=True)
class Sql:
    """One statement, with its parameters by name. ``rows``: how many it has to touch; another number is a failed attempt."""

    statement: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rows: Optional[int] = None


def sql(statement: str, *, rows: Optional[int] = None, **parameters: Any) -> Sql:
    """``tenure.sql("insert into ledger values(:id, :body)", id=message.id, body=message.text)``"""
    return Sql(statement, parameters, rows)


@dataclass(frozen=True)
class Send:
    """A message to a queue of the same store. Without an id it gets one of the message that is handled."""

    queue: str
    body: Body = b""
    group: str = ""
    id: Optional[str] = None
    headers: Optional[Headers] = None
    deliver_at: Optional[datetime] = None  # with its time zone
    delay: Optional[timedelta] = None


@dataclass(frozen=True)
class Cancel:
    """Takes back a message that waits for its time."""

    id: str
    queue: str = ""


@dataclass(frozen=True)
class Reschedule:
    """Gives a message that waits another time."""

    id: str
    at: datetime
    queue: str = ""


@dataclass(frozen=True)
class Put:
    """Keeps a value under a key of the handlers' state."""

    key: str
    value: Body


@dataclass(frozen=True)
class Erase:
    key: str


@dataclass(frozen=True)
class Done:
    """The message is done, and all of this is committed with it, or none."""

    sql: Sequence[Sql] = ()
    send: Sequence[Send] = ()
    cancel: Sequence[Cancel] = ()
    reschedule: Sequence[Reschedule] = ()
    put: Union[Mapping[str, Body], Sequence[Put]] = ()
    erase: Sequence[str] = ()


@dataclass(frozen=True)
class Retry:
    """Again later, in its place; no failed attempt. ``after`` in seconds; 0: as Tenure chooses."""

    after: float = 0
    why: str = ""


@dataclass(frozen=True)
class Reject:
    """A dead letter at once: no attempt could help."""

    why: str = ""


@dataclass(frozen=True)
class Skip:
    """There is nothing to do for it."""

    why: str = ""


@dataclass(frozen=True)
class Failed:
    """A failed attempt; an exception of the handler becomes one."""

    why: str = ""


Answer = Union[None, Done, Retry, Reject, Skip]
