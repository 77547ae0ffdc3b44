/** A message, as its handler sees it. */

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class Message {
  #progress;

  constructor({ id, body = "", ...fields }, progress = () => {}) {
    this.id = id;
    this.group = "";
    this.body = Buffer.isBuffer(body) ? body : Buffer.from(body);
    this.headers = {};
    this.attempt = 1;
    this.number = null;
    this.time = null;
    this.token = 0n;
    this.deadline = null;
    this.state = {};
    for (const name of Object.keys(fields)) if (!(name in this)) throw new TypeError(`Message has no "${name}"`);
    Object.assign(this, fields);
    this.#progress = progress;
  }

  get text() {
    return utf8.decode(this.body);
  }

  progress() {
    this.#progress();
  }
}
