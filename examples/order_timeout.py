#!/usr/bin/env python3
"""Orders that are paid in time, or cancelled: what order_timeout.cpp does, as a worker in Python.

    export PYTHONPATH=clients/python TENURE_QUEUE='sqlite:orders.db?queue=orders'
    examples/order_timeout.py events | tenure produce --format jsonl
    tenure consume --zookeeper HOST:PORT --election order-timeout --worker examples/order_timeout.py

Six orders, and a payment for each after the time in CUSTOMERS. An order is paid or cancelled, never both, whatever
happens to the replicas and their workers; a payment that comes too late is refunded. What became of an order stands in
the state under its name: a cancellation may come too late, and no answer knows that of itself.
"""
import datetime
import json
import sys

import tenure

TIME_TO_PAY = datetime.timedelta(seconds=2)
CUSTOMERS = ["200ms", "1900ms", "1990ms", "2s", "2010ms", "3s"]

worker = tenure.Worker(uses=["sql", "send", "cancel", "put"])


def timeout_of(order):
    return f"{order}/timeout"


def booked(order, state, **effects):
    print(f"{order} is {state}")
    table = tenure.sql("CREATE TABLE IF NOT EXISTS book(n INTEGER PRIMARY KEY, item TEXT, state TEXT)")
    entry = tenure.sql("INSERT INTO book(item, state) VALUES(:order, :state)", order=order, state=state, rows=1)
    return tenure.Done(sql=[table, entry], **effects)


@worker.handler(state=lambda message: [message.group])
def handle(message):
    order, end = message.group, message.state[message.group]
    if message.text == "created":
        timeout = tenure.Send("orders", body="timeout", group=order, id=timeout_of(order), delay=TIME_TO_PAY)
        return booked(order, "created", send=[timeout])
    if message.text == "paid":
        if end is not None:
            return booked(order, "refunded")
        return booked(order, "paid", cancel=[tenure.Cancel(timeout_of(order))], put={order: "paid"})
    if end is not None:
        return tenure.Skip(f"{order} is {end.decode()}")  # its timeout had come to the queue when it was paid
    return booked(order, "cancelled", put={order: "cancelled"})


def events():
    for i, taken in enumerate(CUSTOMERS, 1):
        order = f"order-{i}"
        yield {"id": f"{order}/created", "group": order, "body": "created"}
        yield {"id": f"{order}/paid", "group": order, "body": "paid", "delay": taken}


if __name__ == "__main__":
    if sys.argv[1:] == ["events"]:
        for event in events():
            print(json.dumps(event))
    else:
        worker.run()
