import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { utf8 } from './byte-fixtures.ts';
import {
  alivePids,
  checkProcessesEnded,
  createHost,
  entryFiles,
  folder,
  isGone,
  moduleAt,
  pagesOf,
  startedPids,
  writeFile,
} from './parser-host-fixtures.ts';

t.test('a canceled document ends at once and leaves no process', async (t) => {
  const host = createHost(t, entryFiles.hostile);
  const cancellation = new AbortController();
  const task = { kind: 'parse', file: writeFile(utf8('bait')), path: 'hang' } as const;
  const running = host.parse(task, undefined, cancellation.signal);
  const before = startedPids.length;
  while (startedPids.length === before) await sleep(20);
  await sleep(300);
  cancellation.abort();
  t.match(await running, { failure: { code: 'timeout', message: /canceled/ } });
  t.ok(await isGone(startedPids.at(-1)!));
  t.same(pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8('next')), path: 'a.txt' })), [
    'next',
  ]);
});

t.test('a document canceled while waiting is never parsed, and the one before it continues', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const cancellation = new AbortController();
  const running = host.parse({ kind: 'parse', file: writeFile(utf8('words')), path: 'a.txt' });
  // The file does not exist, so parsing it would fail.
  const absent = join(folder, 'absent');
  const waiting = host.parse({ kind: 'parse', file: absent }, undefined, cancellation.signal);
  const image = host.render({ kind: 'render', file: absent, page: 0 }, cancellation.signal);
  cancellation.abort();
  t.same(pagesOf(await running), ['words']);
  for (const outcome of [await waiting, await image])
    t.match(outcome, { failure: { code: 'timeout', message: /canceled/ } });
});

t.test('close stops the process during a document and is idempotent', async (t) => {
  const host = createHost(t, entryFiles.hostile);
  const running = host.parse({ kind: 'parse', file: writeFile(utf8('bait')), path: 'hang' });
  const before = startedPids.length;
  while (startedPids.length === before) await sleep(20);
  await sleep(300);
  await host.close();
  await host.close();
  t.match(await running, { failure: { code: /crash|timeout/ } });
  t.ok(await isGone(startedPids.at(-1)!));
  await t.rejects(host.parse({ kind: 'parse', file: writeFile(utf8('late')) }), /closed/);
});

t.test('a document can be canceled, and a host closed, while the process is starting', async (t) => {
  const canceled = createHost(t, entryFiles.hostile);
  const cancellation = new AbortController();
  const bait = { kind: 'parse', file: writeFile(utf8('bait')), path: 'hang' } as const;
  const before = startedPids.length;
  const first = canceled.parse(bait, undefined, cancellation.signal);
  await waitUntil('the start of a process', () => startedPids.length > before);
  cancellation.abort();
  t.match(await first, { failure: { code: 'timeout' } });
  const closed = createHost(t, entryFiles.hostile);
  const second = closed.parse({ kind: 'parse', file: writeFile(utf8('bait')), path: 'hang' });
  await waitUntil('the start of another process', () => startedPids.length > before + 1);
  await closed.close();
  t.match(await second, { failure: { code: 'timeout' } });
  for (const pid of alivePids) t.notOk(pid === startedPids.at(-1), 'the last process has ended');
});

t.test('kill -9 of the server ends a hanging parser process', async (t) => {
  const owner = spawn(
    process.execPath,
    [moduleAt('./processes/parser-owner-process.js'), writeFile(utf8('bait'))],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [line] = (await once(owner.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  t.ok(pid > 0 && existsSync(`/proc/${pid}`));
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  t.ok(await isGone(pid));
});

t.test('every started process has ended', (t) => checkProcessesEnded(t, 4));
