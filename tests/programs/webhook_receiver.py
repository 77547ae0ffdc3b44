#!/usr/bin/env python3
"""Receives the calls of `tenure consume --webhook`, well or badly as the path says, and writes a JSON line of each.

usage: webhook_receiver.py PORT_FILE LOG_FILE [SECRET_FILE [CERTIFICATE KEY]]
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse

port_file, log_file = sys.argv[1:3]
secret = None
if len(sys.argv) > 3 and sys.argv[3]:
    secret = base64.b64decode(open(sys.argv[3]).read().split()[0].removeprefix("whsec_"))

lock = threading.Lock()
seen = {}  # how often each webhook-id has come
tokens = {}  # the highest of each election
beside = {}  # calls of each group that are being answered
stop = threading.Event()


def is_signed(headers, body):
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(expected, one.encode()) for one in headers["webhook-signature"].split(" "))


def order_of(headers):
    """The token and the number, of an order that is authentic."""
    version, token, number, mac = headers["tenure-order"].split(",")
    fields = [headers["webhook-id"], headers["webhook-timestamp"],
              urllib.parse.unquote(headers["tenure-election"]),
              urllib.parse.unquote(headers.get("tenure-group", "")), token, number]
    text = b"v1."
    for field in fields:
        text += str(len(field.encode())).encode() + b":" + field.encode()
    expected = base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
    if version != "v1" or not hmac.compare_digest(expected, mac):
        raise ValueError("the order is not authentic")
    return int(token), number


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def write(self, **line):
        with lock, open(log_file, "a") as log:
            log.write(json.dumps(line) + "\n")

    def judge_order(self, call):
        try:
            token, call["number"] = order_of(self.headers)
        except ValueError:
            call["forged"] = True
            return
        election = self.headers["tenure-election"]
        with lock:
            call["stale"] = token < tokens.get(election, 0)
            tokens[election] = max(token, tokens.get(election, 0))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        call = {"path": self.path, "body": body.decode(errors="replace"), "at": time.time(),
                **{name.lower(): value for name, value in self.headers.items()}}
        if secret is not None:
            call["signed"] = is_signed(self.headers, body)
        if secret is not None and "tenure-order" in self.headers:
            self.judge_order(call)
        group = call.get("tenure-group", "")
        with lock:
            call["times"] = seen[call["webhook-id"]] = seen.get(call["webhook-id"], 0) + 1
            call["of_group"] = beside[group] = beside.get(group, 0) + 1
            call["at_once"] = sum(beside.values())
        self.write(**call)
        way = self.path.split("?")[0].strip("/").split("/")[0]
        try:
            getattr(self, "do_" + way.replace("-", "_"), self.do_ok)(call)
        finally:
            with lock:
                beside[group] -= 1

    def do_ok(self, call):
        self.answer(200)

    def do_nap(self, call):
        stop.wait(0.05)  # others come meanwhile
        self.answer(200)

    def do_gone(self, call):
        self.answer(410, b"not here any more")

    def do_fail(self, call):
        self.answer(500, b"out of paper")

    def do_busy(self, call):
        if call["times"] == 1:
            self.answer(429, b"later", [("Retry-After", "1")])
        else:
            self.answer(200)

    def do_storm(self, call):
        self.answer(429, b"later", [("Retry-After", "3600")])

    def do_redirect(self, call):
        self.answer(307, b"", [("Location", "http://169.254.169.254/latest")])

    def do_slow_head(self, call):
        stop.wait(30)

    def do_slow_body(self, call):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(1000):
            if stop.wait(0.1):
                return
            self.wfile.write(b".")
            self.wfile.flush()

    def do_endless(self, call):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while not stop.is_set():
                self.wfile.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
        except OSError:
            self.write(path=self.path, ended=True)

    def do_cut(self, call):
        self.close_connection = True

    def do_wrong_length(self, call):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"short")
        self.wfile.flush()
        self.close_connection = True

    def do_hold(self, call):
        """Answers when there is a file of that name."""
        while not os.path.exists(log_file + ".go"):
            stop.wait(0.02)
        self.answer(200)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


server = Server(("127.0.0.1", 0), Receiver)
if len(sys.argv) > 5:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4], sys.argv[5])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(port_file + ".new", port_file)
server.serve_forever()
