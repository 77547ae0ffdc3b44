#!/usr/bin/env python3
"""A counter that only the leader may move, in plain SQL:

    tenure run --zookeeper HOSTS --election counter --store sqlite:counter.db -- examples/fenced_writer.py

Each step is a transaction that asks for its token first: a leader that was replaced while it was paused
commits nothing, and ends.
"""
import os
import signal
import sqlite3
import sys
import time

CHECK = """REPLACE INTO fence SELECT count(*) FROM tenure_fence
           WHERE election = :election AND generation = :generation AND token = :token"""

term = {
    "election": os.environ["TENURE_ELECTION"],
    "generation": int(os.environ["TENURE_GENERATION"]),
    "token": int(os.environ["TENURE_TOKEN"]),
}
store = sqlite3.connect(os.environ["TENURE_STORE_FILE"], timeout=10, isolation_level=None)
store.execute("CREATE TEMP TABLE fence(token_is_current INTEGER PRIMARY KEY CHECK (token_is_current = 1))")


def transaction(work):
    store.execute("BEGIN IMMEDIATE")  # the lock first: no claim can come in between
    try:
        store.execute(CHECK, term)
        work()
        store.execute("COMMIT")
    finally:
        if store.in_transaction:
            store.execute("ROLLBACK")


def step():
    store.execute("CREATE TABLE IF NOT EXISTS counter(n INTEGER NOT NULL)")
    (last,) = store.execute("SELECT coalesce(max(n), 0) FROM counter").fetchone()
    store.execute("INSERT INTO counter VALUES (?)", (last + 1,))
    print("counted", last + 1, "under token", term["token"], flush=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    while True:
        transaction(step)
        time.sleep(0.2)
except sqlite3.IntegrityError as stale:
    sys.exit(f"token {term['token']} is stale: {stale}")
