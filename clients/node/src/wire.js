/** Frames: two lengths of 32 bits in network order, a head in JSON, a raw body. The page of the wire tells the rest. */

import net from "node:net";

export const VERSION = 1;
const LARGEST = 16 << 20; // head and body together
const LENGTHS = 8;
const LONGEST_FAREWELL = 5000; // from bye until each answer has its verdict, in milliseconds

/** The connection is broken, or the other end does not speak as it should. */
export class WireError extends Error {}

export class Wire {
  #socket;
  #frames;
  #unsettled = 0; // answers that are neither accepted nor refused yet
  #isEnding = false;

  static connect(path) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(path);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new Wire(socket));
      });
    });
  }

  constructor(socket) {
    this.#socket = socket;
    this.#frames = this.#read();
    socket.on("error", () => {}); // receive() throws it
  }

  /** Throws where the frame is too large, or has text that is no Unicode. */
  send(head, body = Buffer.alloc(0)) {
    if (this.#isEnding) return;
    this.#socket.write(bytesOf(head, body));
    if (head.type === "answer") ++this.#unsettled;
  }

  /** [head, body], or null: the other end has closed, between two frames. */
  async receive() {
    return (await this.#frames.next()).value ?? null;
  }

  /** Says bye, and closes when each answer has its verdict: that must not meet a closed connection. */
  end() {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#socket.end(bytesOf({ type: "bye" }, Buffer.alloc(0)), () => this.#closeIfSettled());
    setTimeout(() => this.close(), LONGEST_FAREWELL).unref();
  }

  get isEnding() {
    return this.#isEnding;
  }

  close() {
    this.#socket.destroy();
  }

  #closeIfSettled() {
    if (this.#isEnding && this.#unsettled === 0) this.close();
  }

  async *#read() {
    let parts = []; // of what has arrived; put together when a frame is there in full
    let size = 0;
    let needed = LENGTHS;
    try {
      for await (const part of this.#socket) {
        parts.push(part);
        size += part.length;
        if (size < needed) continue;
        let rest = parts.length === 1 ? part : Buffer.concat(parts, size);
        while (rest.length >= (needed = sizeOfFrame(rest))) {
          const frame = frameIn(rest.subarray(0, needed));
          rest = rest.subarray(needed);
          if (["accepted", "refused"].includes(frame[0].type)) --this.#unsettled;
          this.#closeIfSettled();
          yield frame;
        }
        parts = [rest];
        size = rest.length;
      }
    } catch (error) {
      if (!this.#isEnding) throw new WireError(error.message, { cause: error });
      return;
    }
    if (size > 0 && !this.#isEnding) throw new WireError("the connection ends within a frame");
  }
}

function bytesOf(head, body) {
  const json = JSON.stringify(head);
  // JSON.stringify leaves half a surrogate pair as \ud800; every other backslash before a u is itself behind one
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(json)) throw new RangeError("a text with half of a surrogate pair");
  const text = Buffer.from(json);
  refuseLarger(text.length + body.length);
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

function sizeOfFrame(bytes) {
  if (bytes.length < LENGTHS) return LENGTHS;
  const size = bytes.readUInt32BE(0) + bytes.readUInt32BE(4);
  refuseLarger(size);
  return LENGTHS + size;
}

function frameIn(bytes) {
  const body = LENGTHS + bytes.readUInt32BE(0);
  return [JSON.parse(bytes.toString("utf8", LENGTHS, body)), bytes.subarray(body)];
}

function refuseLarger(size) {
  if (size > LARGEST) throw new RangeError(`a frame of ${size} bytes: at most ${LARGEST} are allowed`);
}
