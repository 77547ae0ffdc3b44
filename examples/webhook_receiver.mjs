// Receives the calls of `tenure consume --webhook`, and refuses what is forged, old, or of a leader that is none any more.
//
//   node webhook_receiver.mjs PORT SECRET_FILE
//
// It needs nothing beside Node. The order is kept in memory here; keep it with your data, and write both in one
// transaction.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const oldest = 300; // seconds; a call is signed anew at each attempt
const [port, secretFile] = process.argv.slice(2);
const secrets = readFileSync(secretFile, "utf8")
  .split("\n")
  .filter((line) => line.startsWith("whsec_"))
  .map((line) => Buffer.from(line.slice("whsec_".length), "base64"));

const tokens = new Map(); // the highest of each election
const numbers = new Map(); // the last of each group
const handled = new Set();

function isMac(secret, text, given) {
  const expected = createHmac("sha256", secret).update(text).digest();
  const bytes = Buffer.from(given, "base64");
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

/** As Standard Webhooks 1.0 says. */
function isSigned(headers, body) {
  const text = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), body]);
  const given = headers["webhook-signature"].split(" ").filter((one) => one.startsWith("v1,"));
  return secrets.some((secret) => given.some((one) => isMac(secret, text, one.slice("v1,".length))));
}

/** Election, group, token and number of a call whose order is authentic. */
function orderOf(headers) {
  const [version, token, number, mac] = headers["tenure-order"].split(",");
  const election = decodeURIComponent(headers["tenure-election"]);
  const group = decodeURIComponent(headers["tenure-group"] ?? "");
  const fields = [headers["webhook-id"], headers["webhook-timestamp"], election, group, token, number];
  const text = "v1." + fields.map((field) => `${Buffer.byteLength(field)}:${field}`).join("");
  if (version !== "v1" || !secrets.some((secret) => isMac(secret, text, mac))) throw new Error("forged");
  return { election, group, token: BigInt(token), number: number === "" ? null : BigInt(number) };
}

/** Null: handle it. Else the status to answer. */
function judge(headers, body) {
  if (!isSigned(headers, body)) return 401;
  if (!(Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"])) <= oldest)) return 401;
  const { election, group, token, number } = orderOf(headers);
  if (token < (tokens.get(election) ?? 0n)) return 409; // a former leader's: the message is the present one's
  tokens.set(election, token);
  if (handled.has(headers["webhook-id"])) return 200; // it came before, and its answer was lost
  const line = JSON.stringify([election, group]);
  if (number !== null && number > (numbers.get(line) ?? 0n) + 1n) return 425; // one before it is missing
  if (number !== null) numbers.set(line, number);
  handled.add(headers["webhook-id"]);
  return null;
}

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    let status;
    try {
      status = judge(request.headers, body);
    } catch {
      status = 400;
    }
    if (status === null) console.log(request.headers["webhook-id"], body.toString()); // your work
    response.writeHead(status ?? 200).end();
  });
}).listen(Number(port), "127.0.0.1");
