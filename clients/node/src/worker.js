/** The worker's loop: greets, takes messages, answers each. */

import { Done, Failed, Reject, Retry, Skip, isStatement, refuseOthers } from "./answers.js";
import { Message } from "./message.js";
import { Pieces, bytesOf, encoded, kindOf, millisecondsOf, timeOf } from "./values.js";
import { VERSION, Wire, WireError } from "./wire.js";

const LONGEST_REASON = 4096;
const LONGEST_END = 1000; // of a process that has something open yet, in milliseconds

export class Worker {
  #options;
  #wire = null;
  #later = []; // frames that came while the state was awaited
  #isBusy = false;
  #isAskedToStop = false;

  constructor(handler, { state = () => [], ahead = 1, uses, onStart = () => {}, onStop = () => {}, ...others } = {}) {
    refuseOthers("Worker", others);
    if (typeof handler !== "function") throw new TypeError(`a handler is a function, not ${kindOf(handler)}`);
    if (!Number.isSafeInteger(ahead) || ahead < 1 || ahead > 1000) throw new RangeError("ahead is from 1 to 1000");
    this.handler = handler;
    this.state = state;
    this.#options = { ahead, uses, onStart, onStop };
  }

  async run() {
    const path = process.env.TENURE_WORKER_SOCKET;
    if (!path) {
      await written(process.stdout, "");
      await written(
        process.stderr,
        "this is a worker: start it by `tenure worker test 'node …'`, which sets TENURE_WORKER_SOCKET\n",
      );
      process.exit(1);
    }
    const stop = () => this.#stop();
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, stop);
    await this.#options.onStart();
    this.#wire = await Wire.connect(path);
    try {
      const { ahead, uses } = this.#options;
      this.#wire.send({ type: "hello", wire: VERSION, language: `node ${process.versions.node}`, ahead, uses });
      await this.#work();
    } finally {
      await this.#options.onStop();
      this.#wire.close();
    }
    setTimeout(() => process.exit(), LONGEST_END).unref(); // not waited for: it is for a pool that nobody has closed
  }

  #stop() {
    this.#isAskedToStop = true;
    if (!this.#isBusy) this.#wire?.end();
  }

  async #work() {
    for (let frame; (frame = this.#later.shift() ?? (await this.#wire.receive())) !== null; ) {
      if (this.#wire.isEnding) continue; // it is given again, to another
      const [head, body] = frame;
      if (head.type === "message") {
        this.#isBusy = true;
        await this.#handle(head, body);
        this.#isBusy = false;
      } else if (head.type === "refused") {
        console.error(`tenure refused the answer to ${head.number}: ${head.why}`);
      } else if (!["hello", "accepted", "noted", "stop"].includes(head.type)) {
        console.error(`a frame of the type ${JSON.stringify(head.type)} is not known`);
      }
      if (head.type === "stop" || this.#isAskedToStop) this.#wire.end();
    }
  }

  async #handle(head, body) {
    const { number } = head;
    let isAnswered = false;
    let answer;
    try {
      const message = messageOf(head, body, () => {
        if (!isAnswered) this.#wire.send({ type: "progress", number });
      });
      message.state = await this.#stateOf(message, number);
      answer = await this.handler(message);
    } catch (error) {
      if (error instanceof WireError) throw error;
      console.error(error); // the message's fault, or the handler's
      answer = new Failed(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    }
    isAnswered = true;
    try {
      const pieces = new Pieces();
      this.#wire.send({ type: "answer", number, ...headOf(answer, pieces) }, pieces.joined());
    } catch (error) {
      // a value that cannot be sent is a failed attempt that names it
      this.#wire.send({ type: "answer", number, outcome: "failed", why: reason(error.message) });
    }
  }

  async #stateOf(message, number) {
    const state = Object.create(null);
    const keys = [...(await this.state(message))];
    if (keys.length === 0) return state;
    for (const key of keys) {
      if (typeof key !== "string") throw new TypeError(`a key is a string, not ${kindOf(key)}`);
      const size = Buffer.byteLength(key);
      if (size < 1 || size > 255) throw new RangeError(`a key of the state is not 1 to 255 bytes: ${key.slice(0, 60)}`);
    }
    this.#wire.send({ type: "need", number, keys });
    for (let frame; (frame = await this.#wire.receive()) !== null; ) {
      const [head, body] = frame;
      if (head.type === "state" && head.number === number) {
        for (const [key, place] of Object.entries(head.values)) state[key] = place && pieceOf(place, body);
        return state;
      }
      this.#later.push(frame);
    }
    throw new WireError("the connection ended before the state came");
  }
}

function written(stream, text) {
  return new Promise((resolve) => stream.write(text, resolve));
}

function pieceOf([from, length], body) {
  return body.subarray(from, from + length);
}

/** A string of a frame, or a Buffer where it is no UTF-8. */
function textOf(raw, body) {
  return typeof raw === "string" ? raw : pieceOf(raw.bytes, body);
}

function messageOf(head, body, progress) {
  const headers = Object.create(null);
  for (const [name, value] of head.headers ?? []) headers[textOf(name, body)] ??= textOf(value, body);
  return new Message(
    {
      id: textOf(head.id, body),
      group: textOf(head.group ?? "", body),
      body: pieceOf(head.body, body),
      headers,
      attempt: Number(head.attempt ?? 1),
      number: head.sequence == null ? null : BigInt(head.sequence),
      time: head.time == null ? null : new Date(head.time),
      token: BigInt(head.token ?? 0),
      deadline: head.deadline == null ? null : new Date(head.deadline),
    },
    progress,
  );
}

/** The text of a reason, in any case as the wire can have it. */
function reason(why) {
  return Buffer.from(String(why).slice(0, LONGEST_REASON)).toString();
}

/** An answer as the wire has it. */
function headOf(answer, pieces) {
  if (answer === null || answer === undefined) return { outcome: "done" };
  if (answer instanceof Done) return { outcome: "done", effects: effectsOf(answer, pieces) };
  if (answer instanceof Retry)
    return { outcome: "retry", why: reason(answer.why), after_ms: millisecondsOf(answer.after, "after") };
  for (const [type, outcome] of [[Reject, "reject"], [Skip, "skip"], [Failed, "failed"]])
    if (answer instanceof type) return { outcome, why: reason(answer.why) };
  throw new TypeError(`the handler answered ${kindOf(answer)}: expected Done, Retry, Reject, Skip or null`);
}

function effectsOf(done, pieces) {
  const puts = done.put instanceof Map ? [...done.put] : Object.entries(done.put);
  return [
    ...done.sql.map((each) => statementOf(each, pieces)),
    ...done.send.map((each) => ({ send: sendOf(each, pieces) })),
    ...done.cancel.map(({ id, queue, ...others }) => {
      refuseOthers("cancel", others);
      return { cancel: { id, queue } };
    }),
    ...done.reschedule.map(({ id, queue, at, ...others }) => {
      refuseOthers("reschedule", others);
      return { reschedule: { id, queue, at: timeOf(at, "at") } };
    }),
    ...puts.map(([key, value]) => ({ put: { key, value: pieces.add(bytesOf(value, `put ${key}`)) } })),
    ...done.erase.map((key) => ({ erase: { key } })),
  ];
}

function statementOf(made, pieces) {
  if (!isStatement(made)) throw new TypeError("sql of Done takes what sql() makes");
  const values = Object.entries(made.parameters).map(([name, value]) => [name, encoded(name, value, pieces)]);
  const effect = { sql: made.statement, parameters: Object.fromEntries(values) };
  return made.rows === null ? effect : { ...effect, rows: String(made.rows) };
}

function sendOf({ queue, body = "", group, id, headers, deliverAt, delay, ...others }, pieces) {
  refuseOthers("send", others);
  return {
    queue,
    group,
    id,
    body: pieces.add(bytesOf(body, `body to ${queue}`)),
    headers: headers && Object.entries(headers),
    deliver_at: deliverAt && timeOf(deliverAt, "deliverAt"),
    delay_ms: delay === undefined ? undefined : millisecondsOf(delay, "delay"),
  };
}
