"""The servers of bench/queues, one PostgreSQL and three of ZooKeeper, and how its programs start and end.

A keeper of its own ends the servers by their pids and removes the folder, whatever this process dies of: it waits for
the end of a pipe. Programs die with this process, as the kernel sees to it (setpriv --pdeathsig).
"""

import glob
import os
import pwd
import random
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[3]
SUPERUSER = "superuser"
START_LIMIT = 60

KEEPER = """
read -r _
"$1/deploy/ensemble" stop "$2/zookeeper"
if pid=$(head -n 1 "$2/postgresql/postmaster.pid"); then
  kill -QUIT "$pid"
  for _ in {1..100}; do kill -0 "$pid" && sleep 0.1; done
fi
rm -rf "$2"
"""


def wait_for(what, condition, limit=START_LIMIT, pause=0.05):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited too long for {what}")
        time.sleep(pause)


def run(command, log, **more):
    """Runs it to its end; its output goes to the file `log`, the end of which is told where it fails."""
    with open(log, "w") as out:
        ended = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, **more)
    if ended.returncode != 0:
        told = "\n".join(Path(log).read_text().splitlines()[-10:])
        raise RuntimeError(f"{Path(command[0]).name} exits {ended.returncode}: {told}")


class Program:
    """One that runs beside us until it is told to end, or killed."""

    def __init__(self, command, log, environment=None, stdin=subprocess.DEVNULL):
        self.log = log
        self.started = time.time()
        with open(log, "a") as out:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=stdin, stdout=out, stderr=subprocess.STDOUT, env=environment,
            )
        self.stdin = self._process.stdin

    def check(self):
        if self._process.poll() is not None:
            told = "\n".join(Path(self.log).read_text().splitlines()[-10:])
            raise RuntimeError(f"a program has ended that should not: {told}")

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, limit):
        return self._process.wait(limit)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


class Session:
    """A connection to PostgreSQL, by a psql that stays."""

    END = "-- end --"

    def __init__(self, url):
        self._psql = subprocess.Popen(
            ["psql", "-qtAX", "-F", "|", "-v", "ON_ERROR_STOP=1", url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._psql.stdin.close()
        self._psql.wait()

    def rows(self, sql):
        self._psql.stdin.write(f"{sql};\n\\echo {self.END}\n")
        self._psql.stdin.flush()
        rows = []
        for line in self._psql.stdout:
            if line.strip() == self.END:
                return [row.split("|") for row in rows]
            rows.append(line.rstrip("\n"))
        raise RuntimeError(f"PostgreSQL does not do: {sql}")

    def number(self, sql):
        return float(self.rows(sql)[0][0])


class Postgres:
    """A server with the settings that a new one has, but for its address and that it keeps when a commit was."""

    def __init__(self, folder):
        self._data = folder / "postgresql"
        self._log = folder / "postgresql.log"
        self._socket_folder = folder
        self._databases = 0
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
        self._programs = Path(found[-1]) if found else Path()
        self._account = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(folder, account.pw_uid, account.pw_gid)
            self._account = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        initdb = ["-D", self._data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        run(self._as_server("initdb", initdb), folder / "initdb.log", cwd=folder)
        with open(self._data / "postgresql.conf", "a") as conf:
            conf.write(f"listen_addresses = '127.0.0.1'\nunix_socket_directories = '{folder}'\n"
                       "track_commit_timestamp = on\n")
        self._start()

    def _as_server(self, program, words):
        return ["setpriv", *self._account, str(self._programs / program), *map(str, words)]

    def _start(self):
        for _ in range(5):
            self._port = free_port()
            with open(self._log, "a") as out:
                process = subprocess.Popen(
                    self._as_server("postgres", ["-D", self._data, "-p", self._port]),
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                    cwd=self._socket_folder,
                )
            wait_for("PostgreSQL", lambda: process.poll() is not None or self._serves())
            if process.poll() is None:
                return
        raise RuntimeError(f"PostgreSQL does not start: {self._log.read_text()[-500:]}")

    def _serves(self):
        asked = ["pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        return subprocess.run(asked, stdout=subprocess.DEVNULL).returncode == 0

    def url(self, database="postgres"):
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self._port}/{database}"

    def session(self, database="postgres"):
        return Session(self.url(database))

    def create(self, template="template1"):
        """A new database, a copy of `template`; its name."""
        self._databases += 1
        name = f"bench{self._databases}"
        with self.session() as session:
            session.rows(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, database):
        with self.session() as session:
            session.rows(f"DROP DATABASE {database} WITH (FORCE)")

    def milliseconds_of_a_commit(self):
        """Of one row by itself, on this disk: the median of many."""
        with self.session() as session:
            session.rows("CREATE TABLE commits (n int)")
            took = []
            for n in range(200):
                begin = time.monotonic()
                session.rows(f"INSERT INTO commits VALUES ({n})")
                took.append(time.monotonic() - begin)
            session.rows("DROP TABLE commits")
        return sorted(took)[len(took) // 2] * 1e3


def free_port():
    """Below the range that outgoing connections use."""
    while True:
        port = random.randrange(10000, 30000)
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Ground:
    """The folder, the servers and the keeper."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tenure-queues-"))
        self._keeper = subprocess.Popen(
            ["bash", "-c", KEEPER, "keeper", HOUSE, self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: exit(143))

    def start(self):
        self.postgres = Postgres(self.folder)
        self.hosts = subprocess.run(
            [HOUSE / "deploy/ensemble", "start", self.folder / "zookeeper"],
            check=True, stdout=subprocess.PIPE, text=True,
        ).stdout.strip()

    def end(self):
        self._keeper.stdin.close()
        self._keeper.wait()

    def log(self, name):
        return self.folder / f"{name}.log"
