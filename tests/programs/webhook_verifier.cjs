// Receives calls, and verifies them with the libraries `standardwebhooks` and `svix`: 200 where both accept, else 401.
//
// usage: webhook_verifier.cjs PORT_FILE SECRET_FILE
const { createServer } = require("node:http");
const { readFileSync, renameSync, writeFileSync } = require("node:fs");
const standard = require("standardwebhooks");
const svix = require("svix");

const [portFile, secretFile] = process.argv.slice(2);
const secret = readFileSync(secretFile, "utf8").split("\n")[0];

function verify(headers, body) {
  new standard.Webhook(secret).verify(body, headers);
  new svix.Webhook(secret).verify(body, {
    "svix-id": headers["webhook-id"],
    "svix-timestamp": headers["webhook-timestamp"],
    "svix-signature": headers["webhook-signature"],
  });
}

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    try {
      verify(request.headers, Buffer.concat(parts).toString());
      response.writeHead(200).end();
    } catch (error) {
      response.writeHead(401).end(error.message);
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  writeFileSync(portFile + ".new", String(server.address().port));
  renameSync(portFile + ".new", portFile);
});
