"""The worker's loop: greets, takes messages, answers each."""

from __future__ import annotations

import asyncio
import collections
import inspect
import os
import platform
import signal
import sys
import traceback
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, Callable, Deque, List, Optional, Sequence, Tuple

from ._answers import Cancel, Done, Erase, Failed, Put, Reject, Reschedule, Retry, Send, Skip, Sql
from ._message import Message, value_of
from ._values import Pieces, encoded
from ._wire import VERSION, Head, Wire, WireError

Handler = Callable[[Message], Any]
StateKeys = Callable[[Message], Sequence[str]]
_LONGEST_REASON = 4096


class _AskedToStop(Exception):
    """Raised by a signal while no message is in hand."""


def _time_of(text: Optional[str]) -> Optional[datetime]:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _text_of(at: datetime) -> str:
    if at.tzinfo is None:
        raise ValueError("a time without a time zone: give one, such as datetime.timezone.utc")
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _bytes_of(data: Any) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8")
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"{type(data).__name__} is neither str nor bytes")


class Worker:
    """Answers messages of Tenure with a handler.

    ``ahead``: how many messages may be in hand at a time. More than one is for handlers whose effects are all in their
    answers: what was answered behind a message that is not done is thrown away, and given again later.

    ``uses``: the effects that its answers have, such as ``["sql", "send"]``. A store that cannot take them is refused
    when the replica starts, and not at the first answer.
    """

    def __init__(self, ahead: int = 1, *, uses: Optional[Sequence[str]] = None) -> None:
        if not 1 <= ahead <= 1000:
            raise ValueError("ahead is from 1 to 1000")
        self._ahead = ahead
        self._uses = None if uses is None else list(uses)
        self._handler: Optional[Handler] = None
        self._state: Optional[StateKeys] = None
        self._on_start: List[Callable[[], Any]] = []
        self._on_stop: List[Callable[[], Any]] = []
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._stopping = False
        self._waiting = False
        self._unsettled = 0  # answers that are neither accepted nor refused yet
        self._later: Deque[Tuple[Head, bytes]] = collections.deque()  # frames that came while the state was awaited

    def handler(self, function: Optional[Handler] = None, *, state: Optional[StateKeys] = None) -> Any:
        """A decorator for the one handler, ``def`` or ``async def``. ``state``: which keys it wants to know."""

        def take(given: Handler) -> Handler:
            if self._handler is not None:
                raise ValueError("a worker has one handler")
            self._handler = given
            self._state = state
            return given

        return take if function is None else take(function)

    def on_start(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Before the first message: connections, models."""
        self._on_start.append(function)
        return function

    def on_stop(self, function: Callable[[], Any]) -> Callable[[], Any]:
        self._on_stop.append(function)
        return function

    def run(self) -> None:
        """Works until Tenure says that it is over. Returns then."""
        path = os.environ.get("TENURE_WORKER_SOCKET")
        if not path:
            sys.exit("this is a worker: start it by `tenure worker test 'python3 …'`, which sets TENURE_WORKER_SOCKET")
        if self._handler is None:
            sys.exit("the worker has no handler: decorate one with @worker.handler")
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(line_buffering=True)  # each line is an event of the log
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked_to_stop)
        for function in self._on_start:
            self._call(function)
        wire = Wire.connect(path)
        try:
            hello: Head = {"type": "hello", "wire": VERSION, "language": "python " + platform.python_version(),
                           "ahead": self._ahead}
            if self._uses is not None:
                hello["uses"] = self._uses
            wire.send(hello)
            self._work(wire)
        finally:
            for function in self._on_stop:
                self._call(function)
            wire.close()

    def answer(self, message: Message) -> Any:
        """What the handler answers, an exception as a failed attempt. For tests."""
        if self._handler is None:
            raise ValueError("the worker has no handler")
        try:
            return self._call(self._handler, message)
        except Exception as error:  # the message's fault, or the handler's
            traceback.print_exc()
            return Failed(f"{type(error).__name__}: {error}")

    def state_keys(self, message: Message) -> List[str]:
        keys = [] if self._state is None else list(self._state(message))
        for key in keys:
            if not 1 <= len(key.encode("utf-8")) <= 255:
                raise ValueError(f"a key of the state is not 1 to 255 bytes: {key[:60]!r}")
        return keys

    def _asked_to_stop(self, number: int, frame: Any) -> None:
        self._stopping = True
        if self._waiting:
            raise _AskedToStop

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        result = function(*arguments)
        if not inspect.isawaitable(result):
            return result
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(result)

    def _work(self, wire: Wire) -> None:
        while True:
            try:
                self._waiting = True
                frame = None if self._stopping else self._next(wire)
                self._waiting = False
                if frame is None and not self._stopping:
                    return
            except _AskedToStop:
                frame = None
            self._waiting = False
            if frame is None:
                break
            head, body = frame
            kind = head.get("type")
            if kind == "message":
                self._handle(wire, head, body)
            elif kind == "refused":
                print(f"tenure refused the answer to {head.get('number')}: {head.get('why')}", file=sys.stderr)
            elif kind == "stop":
                break
            elif kind not in ("hello", "accepted", "noted"):
                print(f"a frame of the type {kind!r} is not known", file=sys.stderr)
        wire.send({"type": "bye"})
        wire.end()
        try:
            while self._unsettled > 0 and self._next(wire) is not None:  # a verdict must not meet a closed connection
                pass
        except OSError:
            pass

    def _next(self, wire: Wire) -> Optional[Tuple[Head, bytes]]:
        frame = self._later.popleft() if self._later else wire.receive()
        if frame is not None and frame[0].get("type") in ("accepted", "refused"):
            self._unsettled -= 1
        return frame

    def _handle(self, wire: Wire, head: Head, body: bytes) -> None:
        number = str(head["number"])
        message = self._message_of(wire, number, head, body)
        try:
            keys = self.state_keys(message)
        except Exception as error:
            traceback.print_exc()
            return self._send(wire, number, Failed(f"{type(error).__name__}: {error}"))
        if keys:
            wire.send({"type": "need", "number": number, "keys": keys})
            told = self._await_state(wire, number)
            if told is None:
                return None
            values, raw = told
            message.state = {key: None if place is None else raw[place[0] : place[0] + place[1]]
                             for key, place in values.items()}
        answer = self.answer(message)
        message._progress = None
        self._send(wire, number, answer)

    def _await_state(self, wire: Wire, number: str) -> Any:
        while True:
            frame = wire.receive()
            if frame is None:
                raise WireError("the connection ended before the state came")
            kind, of = frame[0].get("type"), frame[0].get("number")
            if kind == "state" and of == number:
                return frame[0]["values"], frame[1]
            if kind == "refused" and of == number:  # a key that is none: the attempt has failed
                print(f"tenure refused the keys of {number}: {frame[0].get('why')}", file=sys.stderr)
                return None
            self._later.append(frame)

    @staticmethod
    def _message_of(wire: Wire, number: str, head: Head, body: bytes) -> Message:
        begin, length = head["body"]
        headers: dict = {}
        for name, value in head.get("headers", []):
            headers.setdefault(str(value_of(name, body)), value_of(value, body))
        sequence = head.get("sequence")
        return Message(
            id=value_of(head["id"], body),
            group=value_of(head.get("group", ""), body),
            body=body[begin : begin + length],
            headers=headers,
            attempt=int(head.get("attempt", "1")),
            number=None if sequence is None else int(sequence),
            time=_time_of(head.get("time")),
            token=int(head.get("token", "0")),
            deadline=_time_of(head.get("deadline")),
            progress=lambda: wire.send({"type": "progress", "number": number}),
        )

    def _send(self, wire: Wire, number: str, answer: Any) -> None:
        pieces = Pieces()
        self._unsettled += 1
        try:
            head = head_of(answer, pieces)
            wire.send({"type": "answer", "number": number, **head}, pieces.joined())
        except OSError:
            raise
        except Exception as error:  # a value that cannot be sent is a failed attempt that names it
            why = str(error).encode("utf-8", "replace").decode("utf-8")[:_LONGEST_REASON]
            wire.send({"type": "answer", "number": number, "outcome": "failed", "why": why})


def head_of(answer: Any, pieces: Pieces) -> Head:
    """An answer as the wire has it."""
    if answer is None:
        answer = Done()
    if isinstance(answer, Done):
        return {"outcome": "done", "effects": _effects_of(answer, pieces)}
    if isinstance(answer, Retry):
        return {"outcome": "retry", "why": answer.why[:_LONGEST_REASON], "after_ms": str(round(answer.after * 1000))}
    for kind, name in ((Reject, "reject"), (Skip, "skip"), (Failed, "failed")):
        if isinstance(answer, kind):
            return {"outcome": name, "why": answer.why[:_LONGEST_REASON]}
    raise TypeError(f"the handler answered {type(answer).__name__}: expected Done, Retry, Reject, Skip or None")


def _effects_of(done: Done, pieces: Pieces) -> List[Head]:
    effects: List[Head] = []
    for name in ("sql", "send", "cancel", "reschedule", "erase"):
        given = getattr(done, name)
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise TypeError(f"{name}= takes a list")
    for each in done.sql:
        if not isinstance(each, Sql):
            raise TypeError("sql= takes what tenure.sql() makes")
        effect: Head = {"sql": each.statement,
                        "parameters": {name: encoded(name, value, pieces) for name, value in each.parameters.items()}}
        if each.rows is not None:
            effect["rows"] = str(each.rows)
        effects.append(effect)
    for sent in done.send:
        effects.append({"send": _send_of(sent, pieces)})
    for cancel in done.cancel:
        effects.append({"cancel": {"id": cancel.id, "queue": cancel.queue}})
    for moved in done.reschedule:
        effects.append({"reschedule": {"id": moved.id, "queue": moved.queue, "at": _text_of(moved.at)}})
    puts = [Put(key, value) for key, value in done.put.items()] if isinstance(done.put, Mapping) else done.put
    for put in puts:
        effects.append({"put": {"key": put.key, "value": pieces.add(_bytes_of(put.value))}})
    for key in done.erase:
        effects.append({"erase": {"key": key.key if isinstance(key, Erase) else key}})
    return effects


def _send_of(sent: Send, pieces: Pieces) -> Head:
    head: Head = {"queue": sent.queue, "group": sent.group, "body": pieces.add(_bytes_of(sent.body))}
    if sent.id is not None:
        head["id"] = sent.id
    if sent.headers:
        head["headers"] = [[name, value] for name, value in sent.headers.items()]
    if sent.deliver_at is not None:
        head["deliver_at"] = _text_of(sent.deliver_at)
    if sent.delay is not None:
        head["delay_ms"] = str(round(sent.delay.total_seconds() * 1000))
    return head
