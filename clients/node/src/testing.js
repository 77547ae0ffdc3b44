/** Hands a handler a message and returns its answer, without a server. */

import { Message } from "./message.js";
import { bytesOf } from "./values.js";

export async function handle(worker, body = "", { id = "m-1", state = {}, ...fields } = {}) {
  const message = new Message({ id, body, ...fields });
  message.state = Object.create(null);
  for (const key of await worker.state(message)) {
    const value = Object.hasOwn(state, key) ? state[key] : null;
    message.state[key] = value === null ? null : Buffer.from(bytesOf(value, key));
  }
  return worker.handler(message);
}
