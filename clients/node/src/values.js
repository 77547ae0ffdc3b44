/** Values of an answer, as the wire has them. */

/** The raw body of a frame, and where its pieces are. */
export class Pieces {
  #parts = [];
  #size = 0;

  add(bytes) {
    const place = [this.#size, bytes.length];
    this.#parts.push(bytes);
    this.#size += bytes.length;
    return place;
  }

  joined() {
    return Buffer.concat(this.#parts, this.#size);
  }
}

/** What a value is, for complaints. */
export function kindOf(value) {
  if (value === null) return "null";
  return typeof value !== "object" ? typeof value : value.constructor?.name ?? "object";
}

/** A text that has a form in UTF-8. */
export function unicode(text, what) {
  if (/\p{Surrogate}/u.test(text)) throw new RangeError(`${what}: a text with half of a surrogate pair`);
  return text;
}

export function bytesOf(data, what) {
  if (data instanceof Uint8Array) return data;
  if (typeof data === "string") return Buffer.from(unicode(data, what));
  throw new TypeError(`${what}: ${kindOf(data)} is neither string nor Uint8Array`);
}

export function timeOf(date, what) {
  if (date instanceof Date && !Number.isNaN(date.getTime())) return date.toISOString();
  throw new TypeError(`${what}: ${date instanceof Date ? "an invalid Date" : kindOf(date)} is no time`);
}

export function millisecondsOf(seconds, what) {
  if (Number.isFinite(seconds)) return String(Math.round(seconds * 1000));
  throw new TypeError(`${what}: ${typeof seconds === "number" ? seconds : kindOf(seconds)} is no number of seconds`);
}

/** The value of one parameter. Throws an error that names it. */
export function encoded(name, value, pieces) {
  const what = `parameter ${name}`;
  if (value === null) return null;
  if (typeof value === "boolean") return { int: value ? "1" : "0" };
  if (typeof value === "bigint") {
    if (BigInt.asIntN(64, value) !== value) throw new RangeError(`${what}: an integer of more than 64 bits`);
    return { int: String(value) };
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError(`${what}: ${value} is no finite number`);
    if (!Number.isInteger(value)) return { real: value };
    if (!Number.isSafeInteger(value))
      throw new RangeError(`${what}: ${value} is an integer that a number may not hold exactly: use a BigInt`);
    return { int: String(value) };
  }
  if (typeof value === "string") return { text: unicode(value, what) };
  if (value instanceof Uint8Array) return { bytes: pieces.add(value) };
  if (value instanceof Date) return { text: timeOf(value, what) };
  if (Array.isArray(value) || isPlain(value)) return { text: jsonOf(value, what) };
  throw new TypeError(`${what}: ${kindOf(value)} is no value of SQL`);
}

function isPlain(value) {
  if (typeof value !== "object") return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function jsonOf(value, what) {
  try {
    return JSON.stringify(value, (key, each) => {
      if (typeof each === "number" && !Number.isFinite(each)) throw new RangeError(`${each} is no finite number`);
      return each;
    });
  } catch (error) {
    throw new TypeError(`${what}: ${error.message}`);
  }
}
