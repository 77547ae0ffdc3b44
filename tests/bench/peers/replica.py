"""What the Python peers share: their words, one operation on the ledger, and when to stop working.

The ledger and the history are those of ledger_replica; with append=1 an operation is a line in the history alone. A
term's token is one more than the highest in the ledger when the term's first operation is done, or that operation's
time, as these systems give none that grows.
"""

import os
import signal
import sqlite3
import sys
import time

PACE = 0.001


class Replica:
    def __init__(self):
        self.words = dict(word.split("=", 1) for word in sys.argv[1:])
        self._ledger = sqlite3.connect(self.words["file"], timeout=30, isolation_level=None)
        self._history = open(self.words["history"], "a", buffering=1)
        self._handover_asked = False
        signal.signal(signal.SIGUSR2, self._ask)

    def __getattr__(self, name):
        return self.words[name.replace("_", "-")]

    def _ask(self, number, frame):
        self._handover_asked = True

    def stand_by(self):
        print("stood_by", flush=True)

    def lead(self, still_leads):
        """Works until asked to hand over, or until still_leads(), asked before each operation, says no."""
        self._handover_asked = False
        token = None
        while not self._handover_asked and still_leads():
            if os.path.exists(self.order):
                signal.pause()  # the only order that peers get
            token = self._operate(token)
            time.sleep(PACE)

    def _operate(self, token):
        if "append" in self.words:
            token = token or time.monotonic_ns()
        else:
            token = self._write_row(token)
        self._history.write(f"{time.monotonic_ns()} {token} 1\n")
        return token

    def _write_row(self, token):
        self._ledger.execute("BEGIN IMMEDIATE")
        if token is None:
            (token,) = self._ledger.execute("SELECT coalesce(max(token), 0) + 1 FROM ledger").fetchone()
        self._ledger.execute("INSERT INTO ledger(message, token) VALUES(?, ?)", (self.id, token))
        self._ledger.execute("COMMIT")
        return token
