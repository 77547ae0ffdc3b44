// The handler of clients_test.cpp for Node: what it does follows from the message's body.

import { Done, Reject, Retry, Skip, Worker, sql, testing } from "../../../clients/node/index.js";

const at = new Date("2030-01-02T03:04:05.678Z");
const wrong = {
  large: 2n ** 63n,
  nan: NaN,
  odd: new Set(),
  unsafe: 2 ** 53,
  nested: { a: [Infinity] },
  missing: undefined,
  half: "\ud83d",
  never: new Date(NaN),
};

const answers = {
  done: (message) =>
    new Done({
      sql: [
        sql("insert into ledger values(:id, :body)", { id: message.id, body: message.text }, 1),
        sql("delete from open", {}, 0),
      ],
      send: [
        { queue: "invoices", body: message.body, group: message.group, headers: { source: "shop" } },
        { queue: "reminders", body: "x", id: "r-1", delay: 2 * 60 * 60 },
        { queue: "reminders", body: "é", id: "r-2", deliverAt: at },
      ],
      cancel: [{ id: "o-1-timeout", queue: "reminders" }],
      reschedule: [{ id: "o-1-check", at }],
      put: { bytes: Buffer.of(1, 255), last: message.id },
      erase: ["old"],
    }),
  values: () => {
    const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
    const [bytes, empty] = [Uint8Array.of(0, 255), Buffer.alloc(0)];
    const text = 'é "quoted"\n';
    return new Done({
      sql: [sql("s", { no: null, yes: true, least, most, real: 1.5, text, bytes, empty, json: ["é"], at })],
    });
  },
  later: () => new Retry({ after: 1.5, why: "closed" }),
  bad: () => new Reject("no such order"),
  none: () => new Skip("nothing to do"),
  nothing: () => null,
  raise: async () => {
    throw new RangeError("no customer");
  },
  add: (message) => {
    const key = `total:${message.group}`;
    return new Done({ put: { [key]: String(Number(message.state[key] ?? 0) + Number(message.text.slice(4))) } });
  },
  progress: async (message) => {
    message.progress();
    await new Promise((resolve) => setImmediate(resolve));
    message.progress();
    return new Done();
  },
  refused: () => new Done({ send: [{ queue: "no queue", body: "x" }] }),
  big: () => new Done({ put: new Map([["big", Buffer.alloc(16 << 20)]]) }),
  stop: async () => {
    process.kill(process.pid, "SIGTERM");
    await new Promise((resolve) => process.once("SIGTERM", resolve));
    return new Done({ put: { stopped: "yes" } });
  },
  pid: () => new Done({ sql: [sql("pid", { pid: process.pid })] }),
  slip: () => new Done({ sends: [] }),
  number: () => 17,
  half_a_key: () => new Done({ erase: ["\ud83d"] }),
};

function echo(message) {
  const { id, group, body, attempt, token, number, time, deadline } = message;
  const source = message.headers.source ?? null;
  return new Done({
    sql: [sql("echo", { id, group, body, source, attempt, token, number, timed: time !== null, deadline })],
  });
}

function handle(message) {
  const [name] = message.body.toString().split(" ");
  if (Object.hasOwn(wrong, name)) return new Done({ sql: [sql("s", { [name]: wrong[name] })] });
  return (answers[name] ?? echo)(message);
}

const worker = new Worker(handle, {
  state: (message) => (message.body.toString().startsWith("add ") ? [`total:${message.group}`] : []),
  onStart: () => console.log("begins"),
  onStop: () => console.log("ends"),
});

if (process.argv[2] === "test") {
  const state = { "total:a": "3", "total:b": "9" };
  const answer = await testing.handle(worker, "add 2", { group: "a", state });
  console.log(answer.put["total:a"]);
} else {
  await worker.run();
}
