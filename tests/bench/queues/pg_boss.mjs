// pg-boss beside Tenure: sends jobs and works them.
//
//   pg_boss.mjs send N SETTINGS    queue, of the queue; job, of each job
//   pg_boss.mjs work SETTINGS      boss, of the instance; work, of the worker; atOnce, of its handler
import pg from 'pg';
import { PgBoss } from 'pg-boss';

const queue = 'orders';
const [what, ...words] = process.argv.slice(2);
const connectionString = process.env.DATABASE_URL;

async function started(settings) {
  const boss = new PgBoss({ connectionString, ...settings });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  return boss;
}

// One by one: jobs are ordered by their time, and those of one statement have the same.
async function send(jobs, settings) {
  const boss = await started({});
  await boss.createQueue(queue, settings.queue);
  for (let message = 1; message <= jobs; ++message) await boss.send(queue, { message }, settings.job);
  await boss.stop();
}

// A transactional worker hands its handler the transaction that also completes the jobs. `atOnce` inserts the rows of a
// batch by one statement, else each has its own.
async function work(settings) {
  const boss = await started(settings.boss);
  const own = new pg.Pool({ connectionString });
  await boss.work(queue, settings.work, async (jobs, transaction) => {
    const run = (sql, values) => (transaction ? transaction.executeSql(sql, values) : own.query(sql, values));
    const messages = jobs.map((job) => job.data.message);
    if (settings.atOnce) {
      await run('INSERT INTO ledger (message) SELECT unnest($1::bigint[])', [messages]);
    } else {
      for (const message of messages) await run('INSERT INTO ledger (message) VALUES ($1)', [message]);
    }
  });
}

if (what === 'send') await send(Number(words[0]), JSON.parse(words[1]));
else await work(JSON.parse(words[0]));
