#!/usr/bin/python3
"""A service that takes orders, and sends a message about each in the transaction that writes its row:

    SHOP=postgresql://shop@db/shop examples/order_service.py < orders

A line of `orders` is an order: its id and what it costs, "o-1 4990". Each is answered by a line "taken o-1" or
"refused o-2: why". A client without an answer sends the line again: row and message are there once all the same.

SHOP may be sqlite:FILE as well. The table: CREATE TABLE orders(id text PRIMARY KEY, cents int CHECK (cents > 0))
"""
import json
import os
import sqlite3
import sys
import time

QUEUE = "invoices"
PATIENCE = 60  # seconds for which an order is tried again while the store cannot be reached


class Refused(Exception):
    """Nothing was written, and nothing will be however often it is tried."""


class Unreachable(Exception):
    """The order may have been taken or not. It is safe to repeat it: row and message have ids that come from it."""


class PostgreSQL:
    def __init__(self, url):
        import psycopg  # here, so that SQLite needs no package

        self.psycopg, self.url = psycopg, url
        try:
            self.connect()
        except psycopg.Error as error:
            sys.exit(f"order_service: cannot begin: {error}")

    def connect(self):
        self.session = self.psycopg.connect(self.url, autocommit=True, connect_timeout=10)

    def take(self, order, cents, message):
        try:
            if self.session.closed:
                self.connect()
            with self.session.transaction():  # both or none: COMMIT at its end, ROLLBACK where a statement fails
                self.session.execute("SELECT tenure_send(%s, %s, id => %s, grp => %s)", message)
                self.session.execute("INSERT INTO orders VALUES (%s, %s) ON CONFLICT DO NOTHING", (order, cents))
                must_cost(cents, self.session.execute("SELECT cents FROM orders WHERE id = %s", (order,)))
        except self.psycopg.OperationalError as error:
            raise Unreachable(error) from error
        except self.psycopg.DatabaseError as error:
            if isinstance(error, (self.psycopg.IntegrityError, self.psycopg.DataError)) or error.sqlstate == "TN001":
                raise Refused(error.diag.message_primary or str(error)) from error
            sys.exit(f"order_service: {error.diag.message_primary}")


class SQLite:
    def __init__(self, file):
        # The leader writes this file too, and one of its commits may take a while.
        self.file = sqlite3.connect(file, timeout=5, isolation_level=None)

    def take(self, order, cents, message):
        try:
            with self.file:  # COMMIT at its end, ROLLBACK where a statement fails
                self.file.execute("BEGIN IMMEDIATE")
                self.file.execute("""INSERT INTO tenure_waiting(queue, body, id, grp) VALUES (?, ?, ?, ?)
                                     ON CONFLICT DO NOTHING""", message)
                self.file.execute("INSERT INTO orders VALUES (?, ?) ON CONFLICT DO NOTHING", (order, cents))
                must_cost(cents, self.file.execute("SELECT cents FROM orders WHERE id = ?", (order,)))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise Unreachable(error) from error
            sys.exit(f"order_service: {error}")
        except (sqlite3.IntegrityError, OverflowError) as error:
            raise Refused(error) from error


def must_cost(cents, found):
    (taken,) = found.fetchone()
    if taken != cents:
        raise Refused(f"it was taken before, for {taken} cents")


def take(shop, order, cents):
    message = (QUEUE, json.dumps({"order": order, "cents": cents}), f"{order}-invoice", order)
    last, pause = time.monotonic() + PATIENCE, 0.1
    while True:
        try:
            return shop.take(order, cents, message)
        except Unreachable as error:
            if time.monotonic() > last:
                sys.exit(f"order_service: gave {order} up, which may have been taken or not: {error}")
            print(f"order_service: repeats {order}: {error}", file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(2 * pause, 5)


def main():
    url = os.environ.get("SHOP", "")  # not an argument: everybody on the host could read a password there
    if not url.startswith(("postgresql://", "sqlite:")):
        sys.exit("order_service: expected SHOP=postgresql://… or SHOP=sqlite:FILE in the environment")
    shop = SQLite(url.removeprefix("sqlite:")) if url.startswith("sqlite:") else PostgreSQL(url)
    for line in sys.stdin:
        try:
            order, cents = line.split()
            take(shop, order, int(cents))
            print("taken", order, flush=True)
        except ValueError:
            print(f"refused {line.strip()}: expected an id and a number of cents", flush=True)
        except Refused as why:
            print(f"refused {order}: {why}", flush=True)


main()
