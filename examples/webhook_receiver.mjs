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

/** The status to answer. */
function handle(headers, body) {
  if (!isSigned(headers, body)) return 401;
  if (!(Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"])) <= oldest)) return 401;
  const { election, group, token, number } = orderOf(headers);
  if (token < (tokens.get(election) ?? 0n)) return 409; // a former leader's: the message is the present one's
  tokens.set(election, token);
  if (handled.has(headers["webhook-id"])) return 200; // it came before, and its answer was lost
  const line = JSON.stringify([election, group]);
  const last = numbers.get(line);
  if (number !== null && last !== undefined && number <= last) return 409; // a later one of its group is handled
  if (number !== null && last !== undefined && number > last + 1n)
    console.error(`numbers ${last + 1n} to ${number - 1n} of group ${group} are missing`);
  console.log(headers["webhook-id"], body.toString()); // your work
  handled.add(headers["webhook-id"]);
  if (number !== null) numbers.set(line, number);
  return 200;
}

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    let status;
    try {
      status = handle(request.headers, body);
    } catch {
      status = 400;
    }
    response.writeHead(status).end();
  });
}).listen(Number(port), "127.0.0.1");
