// graphile-worker beside Tenure: sends jobs, works them, and frees what a killed worker holds.
//
//   graphile_worker.mjs send N JOB       JOB: the options of addJob
//   graphile_worker.mjs work SETTINGS    SETTINGS: those of the worker
//   graphile_worker.mjs free             by forceUnlockWorkers, which its pages give for workers that died
import { makeWorkerUtils, run } from 'graphile-worker';

const [what, ...words] = process.argv.slice(2);
const connectionString = process.env.DATABASE_URL;

async function withUtils(use) {
  const utils = await makeWorkerUtils({ connectionString });
  await utils.migrate();
  await use(utils);
  await utils.release();
}

// One by one: jobs are ordered by their time, and those of one statement have the same.
async function send(jobs, job) {
  await withUtils(async (utils) => {
    for (let message = 1; message <= jobs; ++message) await utils.addJob('record', { message }, job);
  });
}

async function work(settings) {
  const runner = await run({
    preset: { worker: { connectionString, ...settings } },
    taskList: {
      record: async ({ message }, helpers) => {
        await helpers.query('INSERT INTO ledger (message) VALUES ($1)', [message]);
      },
    },
  });
  await runner.promise;
}

async function free() {
  await withUtils(async (utils) => {
    const held = await utils.withPgClient((client) => client.query(
      'SELECT locked_by FROM graphile_worker._private_jobs WHERE locked_by IS NOT NULL UNION ' +
      'SELECT locked_by FROM graphile_worker._private_job_queues WHERE locked_by IS NOT NULL'));
    await utils.forceUnlockWorkers(held.rows.map((row) => row.locked_by));
  });
}

if (what === 'send') await send(Number(words[0]), JSON.parse(words[1]));
else if (what === 'work') await work(JSON.parse(words[0]));
else await free();
