#!/usr/bin/env python3
"""Receives the calls of `tenure consume --webhook`, and refuses what is forged, old, or of a leader that is none any more.

usage: webhook_receiver.py PORT SECRET_FILE

It needs nothing beside Python. The order is kept in memory here; keep it with your data, and write both in one
transaction.
"""
import base64
import hashlib
import hmac
import http.server
import sys
import time
import urllib.parse

OLDEST = 300  # seconds; a call is signed anew at each attempt


def mac(secret, text):
    return base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()


def is_signed(secrets, headers, body):
    """As Standard Webhooks 1.0 says."""
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    given = headers["webhook-signature"].split(" ")
    return any(hmac.compare_digest("v1," + mac(secret, text), one) for secret in secrets for one in given)


def order_of(secrets, headers):
    """Election, group, token and number (None: it has none) of a call whose order is authentic; else None."""
    version, token, number, given = headers["tenure-order"].split(",")
    election = urllib.parse.unquote(headers["tenure-election"])
    group = urllib.parse.unquote(headers.get("tenure-group", ""))
    text = b"v1."
    for field in (headers["webhook-id"], headers["webhook-timestamp"], election, group, token, number):
        text += b"%d:%s" % (len(field.encode()), field.encode())
    if version != "v1" or not any(hmac.compare_digest(mac(secret, text), given) for secret in secrets):
        return None
    return election, group, int(token), int(number) if number else None


class Orders:
    """The highest token of each election, the last number of each group, and the calls that were handled."""

    def __init__(self):
        self.tokens, self.numbers, self.handled = {}, {}, set()

    def judge(self, call_id, election, group, token, number):
        """None: handle it. Else the status to answer."""
        if token < self.tokens.get(election, 0):
            return 409  # a former leader's: the message is the present one's
        self.tokens[election] = token
        if call_id in self.handled:
            return 200  # it came before, and its answer was lost
        last = self.numbers.get((election, group))
        if number is not None and last is not None and number <= last:
            return 409  # a later one of its group is handled
        if number is not None and last is not None and number > last + 1:
            print(f"numbers {last + 1} to {number - 1} of group {group} are missing", file=sys.stderr)
        return None

    def handle(self, call_id, election, group, number):
        self.handled.add(call_id)
        if number is not None:
            self.numbers[election, group] = number


def secrets_in(file):
    return [base64.b64decode(line.strip()[len("whsec_"):]) for line in open(file) if line.startswith("whsec_")]


class Receiver(http.server.BaseHTTPRequestHandler):
    secrets, orders = [], Orders()

    def log_message(self, *_):
        pass

    def judge(self, body):
        try:
            if not is_signed(self.secrets, self.headers, body):
                return 401
            if abs(time.time() - int(self.headers["webhook-timestamp"])) > OLDEST:
                return 401
            order = order_of(self.secrets, self.headers)
        except (KeyError, TypeError, AttributeError, ValueError):
            return 400
        if order is None:
            return 401
        call_id, (election, group, token, number) = self.headers["webhook-id"], order
        status = self.orders.judge(call_id, election, group, token, number)
        if status is not None:
            return status
        print(call_id, body.decode(), flush=True)  # your work
        self.orders.handle(call_id, election, group, number)
        return 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = self.judge(body)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    Receiver.secrets = secrets_in(sys.argv[2])
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
