"""What bench/queues measures of a system: its rate, what a killed worker leaves behind, and how long a handover takes.

All of it is read from the ledger. The time of a row is that of the commit that brought it (track_commit_timestamp).
"""

import json
import random
import signal
import threading
import time

from ground import wait_for
from systems import LEDGER

AT = "extract(epoch FROM pg_xact_commit_timestamp(xmin))"
# Rows that came after a row of a later message; of a message that came twice, its first row counts.
MISPLACED = """
SELECT count(*) FROM (
  SELECT message, max(message) OVER (ORDER BY place) AS latest
  FROM (SELECT message, min(place) AS place FROM ledger GROUP BY message) AS firsts) AS looked
WHERE message < latest"""
DONE = "SELECT count(DISTINCT message) FROM ledger"
ROWS = "SELECT coalesce(max(place), 0) FROM ledger"  # a look that costs nothing


def backlog(ground, system, messages):
    """A database with the ledger and that many messages that wait; its name."""
    database = ground.postgres.create()
    with ground.postgres.session(database) as session:
        session.rows(LEDGER)
    system.send(database, messages)
    with ground.postgres.session(database) as session:
        session.rows("VACUUM (ANALYZE)")
        session.rows("CHECKPOINT")
    return database


class Rate:
    """Messages a second: `whole` from the start of the process to the last row, `steady` from the first commit on."""

    def __init__(self, session, started, messages, limit):
        within = f"FROM ledger WHERE {AT} <= {started + limit}"
        self.rows = int(session.number(f"SELECT count(*) {within}"))
        if self.rows == 0:
            raise RuntimeError(f"a worker did nothing within {limit} s")
        first, last = map(float, session.rows(f"SELECT min({AT}), max({AT}) {within}")[0])
        self.whole = self.rows / (last - started if self.rows >= messages else limit)
        after_first = session.number(f"SELECT count(*) {within} AND {AT} > {first}")
        self.steady = after_first / (last - first) if last > first else self.whole
        self.misplaced = int(session.number(MISPLACED))
        self.twice = int(session.number("SELECT count(*) - count(DISTINCT message) FROM ledger"))


def measure_rate(ground, system, template, messages, limit):
    database = ground.postgres.create(template)
    with ground.postgres.session(database) as session:
        worker = system.work(database)

        def is_over():
            worker.check()
            return time.time() > worker.started + limit or session.number(ROWS) >= messages

        try:
            wait_for(f"{system.name} to work", is_over, limit + 60, pause=0.1)
        finally:
            worker.kill()
        rate = Rate(session, worker.started, messages, limit)
    ground.postgres.drop(database)
    return rate


class Aftermath:
    """What the ledger says after the kills: messages done twice, left out, misplaced, and those that nobody worked
    until what the dead worker held was freed."""

    def __init__(self, session, messages, held):
        self.twice = int(session.number("SELECT count(*) - count(DISTINCT message) FROM ledger"))
        self.missing = int(messages - session.number(DONE))
        self.misplaced = int(session.number(MISPLACED))
        self.held = held


class Crash:
    """A worker that is killed again and again while it works, and started anew each time."""

    patience = 6  # seconds without a row, after which what is held is freed

    def __init__(self, ground, system, messages):
        self._ground, self._system, self._messages = ground, system, messages
        self._held = 0

    def run(self, kills):
        database = backlog(self._ground, self._system, self._messages)
        with self._ground.postgres.session(database) as session:
            # Not at round numbers, which is where batches end.
            kills_at = sorted(random.sample(range(1, self._messages), kills))
            for wanted in [*kills_at, self._messages]:
                worker = self._system.work(database)
                try:
                    self._await(session, database, wanted, worker)
                finally:
                    worker.kill()
            aftermath = Aftermath(session, self._messages, self._held)
        self._ground.postgres.drop(database)
        return aftermath

    def _await(self, session, database, wanted, worker):
        done, since, freed = 0, time.monotonic(), 0
        while (now := session.number(DONE)) < wanted:
            worker.check()
            if now > done:
                done, since = now, time.monotonic()
            if time.monotonic() > since + self.patience:
                freed += 1
                if freed > 10:
                    return  # it will be told as missing
                self._held = max(self._held, int(self._messages - now))
                self._system.free(database)
                since = time.monotonic()
            time.sleep(0.005)


class Replicas:
    """Tenure on two processes, one of which leads, and a stream of messages."""

    def __init__(self, ground, tenure, rate):
        self._ground, self._tenure, self._rate = ground, tenure, rate
        self._database = backlog(ground, tenure, 0)
        self._replicas = {}
        self._sent = 0
        self._is_over = threading.Event()
        for name in ("a", "b"):
            self._start(name)

    def run(self, handovers, kills):
        """The gaps of handovers and of kills in milliseconds, those between other commits, and what is wrong."""
        sender = self._tenure.sender(self._database)
        feeder = threading.Thread(target=self._feed, args=(sender,))
        feeder.start()
        try:
            with self._ground.postgres.session(self._database) as session:
                asked = [self._change(session, self._hand_over) for _ in range(handovers)]
                killed = [self._change(session, self._kill) for _ in range(kills)]
                self._is_over.set()
                feeder.join()
                sender.stdin.close()
                sender.wait(60)
                wait_for("the last message", lambda: session.number(DONE) >= self._sent)
                wrong = Aftermath(session, self._sent, 0)
                usual = session.number(
                    f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY gap) * 1000 FROM (SELECT at - lag(at) OVER "
                    f"(ORDER BY at) AS gap FROM (SELECT DISTINCT {AT} AS at FROM ledger) AS commits) AS gaps")
        finally:
            self._is_over.set()
            for program in (*self._replicas.values(), sender):
                program.kill()
        self._ground.postgres.drop(self._database)
        return asked, killed, usual, wrong

    def _feed(self, sender):
        begin = time.monotonic()
        while not self._is_over.wait(0.005):
            until = int((time.monotonic() - begin) * self._rate)
            sender.stdin.write("".join(f"{n}\n" for n in range(self._sent + 1, until + 1)).encode())
            sender.stdin.flush()
            self._sent = max(self._sent, until)

    def _status_file(self, name):
        return self._ground.folder / f"{self._database}-{name}.json"

    def _start(self, name):
        self._status_file(name).unlink(missing_ok=True)
        words = ["--id", name, "--status-file", str(self._status_file(name))]
        self._replicas[name] = self._tenure.work(self._database, *words)
        wait_for(f"replica {name}", lambda: self._state(name) is not None)

    def _state(self, name):
        try:
            return json.loads(self._status_file(name).read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def _leader(self, token):
        for name in self._replicas:
            state = self._state(name)
            if state and state["state"] == "leading" and int(state["token"] or 0) == token:
                return name
        return None

    def _change(self, session, how):
        """Milliseconds from the last commit of a term to the first of the next."""
        newest = "SELECT coalesce(max(token), 0) FROM ledger"
        wait_for("a leader", lambda: session.number(newest) > 0)
        token = int(session.number(newest))
        enough = f"SELECT count(*) FROM (SELECT FROM ledger WHERE token = {token} LIMIT 500) AS looked"
        wait_for("a leader at work", lambda: session.number(enough) >= 500)
        wait_for("its status", lambda: self._leader(token) is not None)
        how(self._leader(token))
        wait_for("a successor at work", lambda: session.number(newest) > token)
        last = session.number(f"SELECT max({AT}) FROM ledger WHERE token = {token}")
        return (session.number(f"SELECT min({AT}) FROM ledger WHERE token > {token}") - last) * 1e3

    def _hand_over(self, leader):
        self._tenure.hand_over(self._database)

    def _kill(self, leader):
        self._replicas[leader].signal(signal.SIGKILL)
        self._replicas[leader].wait(10)
        self._start(leader)

