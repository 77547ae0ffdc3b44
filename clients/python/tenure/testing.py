"""Hands a handler a message and returns its answer, without a server.

    def test_a_booking():
        answer = tenure.testing.handle(orders.worker, "17 EUR", id="o-1", state={"total:": b"3"})
        assert answer.sql[0].parameters["id"] == "o-1"
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

from ._message import Message
from ._worker import Worker


def message(body: Union[str, bytes] = b"", *, id: str = "m-1", **rest: Any) -> Message:
    """A message for a test; everything else as Message has it."""
    return Message(id=id, body=body.encode("utf-8") if isinstance(body, str) else body, **rest)


def handle(worker: Worker, body: Union[str, bytes, Message] = b"", *, id: str = "m-1",
           state: Optional[Mapping[str, bytes]] = None, **rest: Any) -> Any:
    """The handler's answer. Its state is that of `state` for the keys that it names. An exception of it is raised."""
    given = body if isinstance(body, Message) else message(body, id=id, **rest)
    if state is not None:
        given.state = {key: state.get(key) for key in worker.state_keys(given)}
    if worker._handler is None:
        raise ValueError("the worker has no handler")
    return worker._call(worker._handler, given)
