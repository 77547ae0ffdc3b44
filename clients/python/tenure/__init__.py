"""Handlers in Python for Tenure.

A worker is started by Tenure (``tenure worker test 'python3 orders.py'``). It is handed messages, one after the other,
and answers each with values: what is to be written, sent and kept. Tenure applies them, under its fence.

    import tenure
    worker = tenure.Worker()

    @worker.handler
    def book(message):
        return tenure.Done(sql=[tenure.sql("insert into ledger values(:id, :body)", id=message.id, body=message.text)])

    worker.run()
"""

from ._answers import Answer, Cancel, Done, Erase, Put, Reject, Reschedule, Retry, Send, Skip, Sql, sql
from ._message import Message
from ._worker import Worker

__all__ = [
    "Answer",
    "Cancel",
    "Done",
    "Erase",
    "Message",
    "Put",
    "Reject",
    "Reschedule",
    "Retry",
    "Send",
    "Skip",
    "Sql",
    "Worker",
    "sql",
]
__version__ = "0.1.0"
