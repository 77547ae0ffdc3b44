"""What record_series needs: servers, replicas, and a recording of what their /metrics say.

Programs end with the thread that has started them, as the kernel sees to it (setpriv --pdeathsig); only ZooKeeper has
to be stopped.
"""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2]
TENURE = os.environ.get("TENURE", str(HOUSE / "build/release/tenure"))
START_LIMIT = 60
WIDTH = 118


def wait_for(what, condition, limit=START_LIMIT):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited too long for {what}")
        time.sleep(0.1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A program that the kernel ends when the thread ends that started it."""

    def __init__(self, command, log, account=(), **more):
        self.log = log
        with open(log, "a") as out:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *account, *map(str, command)],
                stdout=out, stderr=subprocess.STDOUT, **{"stdin": subprocess.DEVNULL, **more})

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, number=signal.SIGTERM, limit=10):
        self.process.send_signal(number)
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()


class ZooKeeper:
    def __init__(self, folder):
        self.folder = folder / "zookeeper"
        subprocess.run([HOUSE / "deploy/ensemble", "start", self.folder, "1"], check=True, capture_output=True)
        self.hosts = subprocess.run([HOUSE / "deploy/ensemble", "hosts", self.folder], check=True, capture_output=True,
                                    text=True).stdout.strip()

    def stop(self):
        subprocess.run([HOUSE / "deploy/ensemble", "stop", self.folder], capture_output=True)


class Redis:
    def __init__(self, folder):
        self.folder = folder / "redis"
        self.folder.mkdir()
        self.port = free_port()
        self.start()

    def start(self):
        self.program = Program(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder,
                                "--save", "", "--appendonly", "yes", "--appendfsync", "always"], self.folder / "log")
        wait_for("Redis", lambda: self.do("PING").strip() == "PONG")

    def stop(self):
        self.program.stop()

    def do(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True).stdout

    def url(self, user="", port=None):
        return f"redis://{user}127.0.0.1:{port or self.port}?queue=orders"


class Tunnel:
    """A way to a port of this machine. While it is not open, it keeps what is sent there."""

    def __init__(self, target):
        self.target = target
        self.is_open = threading.Event()
        self.is_open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self._carry, args=(client, server, self.is_open), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, None), daemon=True).start()

    @staticmethod
    def _carry(source, sink, gate):
        try:
            while data := source.recv(65536):
                if gate:
                    gate.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()


class Postgres:
    def __init__(self, folder):
        self.folder = folder / "postgresql"
        self.folder.mkdir()
        self.port = free_port()
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
        self.programs = Path(found[-1])
        self.account = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.folder, "postgres")
            self.account = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        subprocess.run(["setpriv", *self.account, self.programs / "initdb", "-D", self.folder / "data", "-U", "owner",
                        "-A", "trust"], check=True, capture_output=True, cwd=self.folder)
        self.start()
        subprocess.run([TENURE, "schema", "apply", "--store", self.url()], check=True, capture_output=True)

    def start(self):
        self.program = Program([self.programs / "postgres", "-D", self.folder / "data", "-p", self.port,
                                "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"],
                               self.folder.parent / "postgresql.log", self.account, cwd=self.folder)
        wait_for("PostgreSQL", lambda: subprocess.run(["pg_isready", "-q", "-h", "127.0.0.1", "-p",
                                                       str(self.port)]).returncode == 0)

    def stop(self):
        self.program.stop(signal.SIGINT)

    def url(self):
        return f"postgresql://owner@127.0.0.1:{self.port}/postgres"


class Recording:
    """What the scrapes have found of some series: for each the value at each sample, None where it was absent. A
    counter that stays 0 is left out."""

    def __init__(self, wanted):
        self._wanted = [each.partition("/")[::2] for each in wanted]
        self._values = {}
        self.length = 0

    def add(self, found):
        """A sample: {(name, labels): value as text}."""
        for key, value in found.items():
            if any(key[0] == name and (not value or value in dict(key[1]).values()) for name, value in self._wanted):
                self._values.setdefault(key, [None] * self.length).append(value)
        self.length += 1
        for values in self._values.values():
            values += [None] * (self.length - len(values))

    def text(self):
        lines = []
        for (name, labels), values in sorted(self._values.items(), key=lambda each: (each[0][0], str(each[0][1]))):
            if name.endswith("_total") and set(values) <= {"0", None}:
                continue
            label_text = ",".join(f'{label}="{value}"' for label, value in labels)
            lines += [f"- series: '{name}{{{label_text}}}'", *self._folded(self._runs(values))]
        return "\n".join(" " * 6 + line for line in lines) + "\n"

    @staticmethod
    def _runs(values):
        """promtool's notation: 1x3 is four samples of 1, _x3 three that are absent, stale the first one after a 1."""
        tokens = []
        at = 0
        while at < len(values):
            end = at
            while end < len(values) and values[end] == values[at]:
                end += 1
            count = end - at
            if values[at] is None:
                if at > 0:
                    tokens.append("stale")
                    count -= 1
                tokens += [f"_x{count}"] if count > 1 else ["_"] * count
            else:
                tokens.append(f"{values[at]}x{count - 1}" if count > 1 else values[at])
            at = end
        return tokens

    @staticmethod
    def _folded(tokens):
        if len(" ".join(tokens)) < 80:
            return [f"  values: '{' '.join(tokens)}'"]
        lines = ["  values: >-", "   "]
        for token in tokens:
            if len(lines[-1]) + len(token) + 7 > WIDTH:
                lines.append("   ")
            lines[-1] += " " + token
        return lines


class Replica(Program):
    def __init__(self, name, command, folder):
        self.name = name
        self.address = str(folder / f"{name}.sock")
        super().__init__([*command, "--id", name, "--http", f"unix:{self.address}"], folder / f"{name}.log")

    def scrape(self):
        """The text of /metrics; None if there is no answer."""
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(5)
                link.connect(self.address)
                link.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = b""
                while part := link.recv(65536):
                    answer += part
        except OSError:
            return None
        return answer.decode().partition("\r\n\r\n")[2] or None


def samples_in(text, more_labels):
    for line in text.splitlines():
        if match := re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)', line):
            labels = re.findall(r'(\w+)="([^"]*)"', match[2] or "")
            value = match[3] if re.fullmatch(r"-?\d+", match[3]) else f"{float(match[3]):.1f}"
            yield (match[1], tuple(labels + more_labels)), value


class Stage:
    """One fault's replicas, stores and recording."""

    def __init__(self, name, series, zookeeper, folder, interval):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.recording = Recording(series)
        self.notes = []
        self.sqlite = f"sqlite:{self.folder}/orders.db?queue=orders"
        self.probes = []  # each gives more samples
        self._election = ["--zookeeper", zookeeper, "--election", "orders"]
        self._root = ["--root", "/" + name]
        self._interval = interval
        self._begun = None
        self._running = []
        self._replicas = {}

    def keep(self, program):
        self._running.append(program)
        return program

    def consume(self, name, *more, queue=None, environment=None):
        command = [TENURE, "consume", *self._election, *self._root, "--queue", queue or self.sqlite, *more]
        if environment:
            command = ["env", *environment, *command]
        replica = self.keep(Replica(name, command, self.folder))
        self._replicas[name] = replica
        return replica

    def pair(self, *more, **how):
        """Two replicas: `one` leads and `two` stands by."""
        one = self.consume("one", *more, **how)
        self.await_gauge(one, "tenure_leader")
        two = self.consume("two", *more, **how)
        self.await_gauge(two, "tenure_ready")
        return one, two

    def await_gauge(self, replica, gauge, value="1"):
        wanted = re.compile(rf"^{gauge}\{{.*\}} {value}$", re.MULTILINE)
        wait_for(f"{gauge} of {replica.name}; see {replica.log}", lambda: wanted.search(replica.scrape() or ""))

    def tool(self, *words, text=""):
        ended = subprocess.run([TENURE, *map(str, words)], input=text, capture_output=True, text=True, timeout=60)
        if ended.returncode != 0:
            raise RuntimeError(f"tenure {' '.join(map(str, words))}: {ended.stdout} {ended.stderr}")

    def produce(self, *bodies, queue=None):
        self.tool("produce", "--queue", queue or self.sqlite, text="".join(f"{body}\n" for body in bodies))

    def in_election(self, *words):
        self.tool(*words, *self._election, *self._root)

    def note(self, text):
        """For the comment above the series: what happens from the next sample on."""
        after = max(self.recording.length - 1, 0) * 15
        self.notes.append(f"# After {after // 60}m{after % 60:02}s: {text}")

    def watch(self, samples):
        for _ in range(samples):
            now = time.monotonic()
            if self._begun is None:
                self._begun = now
            due = self._begun + self.recording.length * self._interval
            if now > due + self._interval:
                raise RuntimeError(f"a sample of {self.name} is late")
            time.sleep(max(due - now, 0))
            found = {}
            for replica in self._replicas.values():
                own = [("instance", replica.name), ("job", "tenure")]
                text = replica.scrape()
                found[("up", tuple(own))] = "0" if text is None else "1"
                found.update(samples_in(text or "", own))
            for probe in self.probes:
                found.update(probe())
            self.recording.add(found)

    def text(self):
        head = f"    # record_series {self.name}, every {self._interval:g} s"
        return "\n".join([head, *("    " + note for note in self.notes), "    input_series:", self.recording.text()])

    def end(self):
        for program in reversed(self._running):
            program.stop()
