"""The handler of clients_test.cpp in Python: what it does follows from the message's body."""

import datetime
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../clients/python"))

import tenure
import tenure.testing

AT = datetime.datetime(2030, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.timezone.utc)
WRONG = {b"large": 2**63, b"nan": float("nan"), b"odd": object()}

worker = tenure.Worker()


@worker.on_start
def begin():
    print("begins")


@worker.on_stop
def end():
    print("ends")


def keys(message):
    return ["total:" + message.group] if message.body.startswith(b"add ") else []


@worker.handler(state=keys)
def handle(message):
    body = message.body
    if body == b"done":
        return tenure.Done(
            sql=[tenure.sql("insert into ledger values(:id, :body)", rows=1, id=message.id, body=message.text),
                 tenure.sql("delete from open", rows=0)],
            send=[tenure.Send("invoices", body=body, group=message.group, headers={"source": "shop"}),
                  tenure.Send("reminders", body="x", id="r-1", delay=datetime.timedelta(hours=2)),
                  tenure.Send("reminders", body="é", id="r-2", deliver_at=AT)],
            cancel=[tenure.Cancel("o-1-timeout", queue="reminders")],
            reschedule=[tenure.Reschedule("o-1-check", AT)],
            put={"bytes": b"\x01\xff", "last": message.id},
            erase=["old"])
    if body == b"values":
        return tenure.Done(sql=[tenure.sql(
            "s", no=None, yes=True, least=-2**63, most=2**63 - 1, real=1.5, text="é \"quoted\"\n", bytes=b"\x00\xff",
            empty=b"", json=["é"], at=AT)])
    if body == b"later":
        return tenure.Retry(after=1.5, why="closed")
    if body == b"bad":
        return tenure.Reject("no such order")
    if body == b"none":
        return tenure.Skip("nothing to do")
    if body == b"nothing":
        return None
    if body == b"raise":
        raise ValueError("no customer")
    if body.startswith(b"add "):
        key = "total:" + message.group
        return tenure.Done(put={key: str(int(message.state[key] or b"0") + int(body[4:]))})
    if body == b"progress":
        message.progress()
        message.progress()
        return tenure.Done()
    if body == b"refused":
        return tenure.Done(send=[tenure.Send("no queue", body="x")])
    if body == b"big":
        return tenure.Done(put={"big": bytes(16 << 20)})
    if body == b"stop":
        os.kill(os.getpid(), signal.SIGTERM)
        return tenure.Done(put={"stopped": "yes"})
    if body == b"pid":
        return tenure.Done(sql=[tenure.sql("pid", pid=os.getpid())])
    if body in WRONG:
        return tenure.Done(sql=[tenure.sql("s", **{message.text: WRONG[body]})])
    return tenure.Done(sql=[tenure.sql(
        "echo", id=message.id, group=message.group, body=body, source=message.headers.get("source"),
        attempt=message.attempt, token=message.token, number=message.number, timed=message.time is not None,
        deadline=message.deadline)])


if __name__ == "__main__":
    if sys.argv[1:] == ["test"]:
        answer = tenure.testing.handle(worker, "add 2", group="a", state={"total:a": b"3", "total:b": b"9"})
        print(answer.put["total:a"])
    else:
        worker.run()
