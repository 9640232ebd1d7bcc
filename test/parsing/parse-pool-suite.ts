import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type PackedTexts, unpackTexts } from '../../src/core/packed-texts.ts';
import { isFailedOutcome, type ParseOutcome } from '../../src/parsing/process/parse-task.ts';
import { ParserProcessRegistry } from '../../src/parsing/process/parser-process-registry.ts';
import t from '../support/tap.ts';
import { utf8 } from './byte-fixtures.ts';
import { folder, isGone, moduleAt, writeFile } from './parser-host-fixtures.ts';
import { buildPdf } from './pdf-fixtures.ts';

t.test('a pooled document canceled while waiting for a thread is never parsed', async (t) => {
  const pool = new Piscina({ filename: moduleAt('../../workers/parse.js'), maxThreads: 1 });
  const { port1, port2 } = new MessageChannel();
  const running = pool.run({ kind: 'parse', file: writeFile(utf8('words')) });
  const task = { kind: 'parse', file: join(folder, 'absent'), port: port2 };
  const waiting = pool.run(task, { transferList: [port2] });
  port1.postMessage('cancel');
  t.notOk(isFailedOutcome((await running) as ParseOutcome));
  t.match(await waiting, { failure: { code: 'timeout', message: /canceled/ } });
  port1.close();
  await pool.destroy();
});

t.test('the pool runs documents and page images and reports the start and end of each process', async (t) => {
  const pool = new Piscina({ filename: moduleAt('../../workers/parse.js'), maxThreads: 2 });
  const processes = new ParserProcessRegistry();
  pool.on('message', (message) => processes.handleMessage(message));
  const file = writeFile(buildPdf(['pooled']));
  const outcomes = await Promise.all(
    [1, 2, 3].map(() => pool.run({ kind: 'parse', file }) as Promise<{ readonly pages: PackedTexts }>),
  );
  t.same(
    outcomes.map(({ pages }) => unpackTexts(pages)),
    [['pooled'], ['pooled'], ['pooled']],
  );
  const image: unknown = await pool.run({ kind: 'render', file, page: 0 });
  t.ok(image instanceof Uint8Array && image[0] === 0xff && image[1] === 0xd8);
  const pids = processes.listPids();
  t.ok(pids.length >= 1 && pids.length <= 2);
  await pool.destroy();
  for (const pid of pids) t.ok(await isGone(pid));
});

t.test('a pooled document is canceled through its port or by stopping its worker', async (t) => {
  const pool = new Piscina({ filename: moduleAt('../../workers/parse.js'), maxThreads: 1 });
  const processes = new ParserProcessRegistry();
  pool.on('message', (message) => processes.handleMessage(message));
  const text = Buffer.from('(x) Tj '.repeat(6_000_000), 'latin1');
  const slow = writeFile(buildPdf([''], { content: Buffer.concat([Buffer.from('BT /F1 1 Tf '), text]) }));
  const untilStarted = async () => {
    while (processes.listPids().length === 0) await sleep(20);
    await sleep(700);
  };
  const { port1, port2 } = new MessageChannel();
  const canceled = pool.run({ kind: 'parse', file: slow, port: port2 }, { transferList: [port2] });
  await untilStarted();
  port1.postMessage('stop');
  t.match(await canceled, { failure: { code: 'timeout', message: /canceled/ } });
  port1.close();
  const abort = new AbortController();
  const aborted = pool.run({ kind: 'parse', file: slow }, { signal: abort.signal });
  await untilStarted();
  const pids = processes.listPids();
  abort.abort();
  await t.rejects(aborted);
  for (const pid of pids) t.ok(await isGone(pid));
  processes.killAll();
  t.same(processes.listPids(), []);
  await pool.destroy();
});
