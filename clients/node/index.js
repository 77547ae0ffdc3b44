/**
 * Handlers in JavaScript for Tenure.
 *
 * A worker is started by Tenure (`tenure worker test 'node orders.js'`). It is handed messages, one after the other,
 * and answers each with values: what is to be written, sent and kept. Tenure applies them, under its fence.
 *
 *     import { Done, Worker, sql } from "tenure";
 *
 *     const worker = new Worker((message) =>
 *       new Done({ sql: [sql("insert into ledger values(:id, :body)", { id: message.id, body: message.text })] }));
 *
 *     await worker.run();
 */
export { Done, Reject, Retry, Skip, sql } from "./src/answers.js";
export { Message } from "./src/message.js";
export { Worker } from "./src/worker.js";
export * as testing from "./src/testing.js";
