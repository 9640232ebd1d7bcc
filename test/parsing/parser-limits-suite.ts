import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import { noSandbox } from '../../src/parsing/tools/sandbox.ts';
import t from '../support/tap.ts';
import { utf8 } from './byte-fixtures.ts';
import {
  checkProcessesEnded,
  createHost,
  entryFiles,
  folder,
  pagesOf,
  prlimit,
  startedPids,
  writeFile,
} from './parser-host-fixtures.ts';
import { buildPdf } from './pdf-fixtures.ts';

t.test(
  'a page that exceeds the memory limit fails with that reason',
  { skip: prlimit === null && 'needs prlimit' },
  async (t) => {
    const scarce = join(folder, 'prlimit');
    const script = `#!/bin/sh\nshift\nexec ${prlimit} --data=200000000 "$@"\n`;
    writeFileSync(scarce, script, { mode: 0o755 });
    const host = createHost(t, entryFiles.parser, scarce, noSandbox);
    const file = writeFile(buildPdf([''], { content: Buffer.alloc(60_000_000, ' ') }));
    t.match(await host.parse({ kind: 'parse', file }), {
      failure: { code: 'memory', message: /needs more memory than the limit per document/ },
    });
    t.same(pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8('after')) })), ['after']);
  },
);

t.test('without prlimit a memory bomb fails only its own document', async (t) => {
  const host = createHost(t, entryFiles.hostile, null, noSandbox);
  const file = writeFile(utf8('bait'));
  t.match(await host.parse({ kind: 'parse', file, path: 'buffers' }), { failure: { code: 'memory' } });
  t.same(pagesOf(await host.parse({ kind: 'parse', file, path: 'a.txt' })), ['bait']);
});

t.test('a line of a hundred million characters is rejected for its length, in every encoding', async (t) => {
  const host = createHost(t, entryFiles.parser);
  for (const bytes of [
    Buffer.alloc(100_000_000, 'words '),
    Buffer.alloc(100_000_000, 'wörter ', 'utf16le'),
  ]) {
    const outcome = await host.parse({ kind: 'parse', file: writeFile(bytes), path: 'a.txt' });
    if (bytes[1] === 0 && !isFailedOutcome(outcome))
      t.equal(outcome.pages[0]?.length, 50_000_000, 'just fits');
    else t.match(outcome, { failure: { code: 'too_large' } });
  }
});

t.test('a process that floods its host with text is stopped at the budget', async (t) => {
  const host = createHost(t, entryFiles.hostile);
  const limits = { textUnitsMax: 5_000_000 };
  const outcome = await host.parse({ kind: 'parse', file: writeFile(utf8('bait')), path: 'flood', limits });
  t.match(outcome, { failure: { code: 'too_large' } });
});

t.test('a document that keeps reporting progress is stopped at the total time limit', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const file = writeFile(buildPdf(Array.from({ length: 3_000 }, (_, i) => `page ${i}`)));
  const outcome = await host.parse({ kind: 'parse', file, limits: { totalMsMax: 1 } });
  t.match(outcome, { failure: { code: 'timeout', message: /in total/ } });
});

t.test('the total time limit holds for all attempts together', async (t) => {
  const host = createHost(t, entryFiles.hostile);
  const task = { kind: 'parse', file: writeFile(utf8('bait')), path: 'report progress forever' } as const;
  const before = startedPids.length;
  const outcome = await host.parse({ ...task, limits: { totalMsMax: 1_000 } });
  t.match(outcome, { failure: { code: 'timeout', message: /more than 1 s in total/ } });
  t.equal(startedPids.length - before, 1, 'no time remains for another attempt');
});

t.test('decompression bombs in a PDF stay within the limits', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const text = Buffer.from('(bomb bomb bomb bomb) Tj T* '.repeat(3_000_000), 'latin1');
  const content = Buffer.concat([Buffer.from('BT /F1 1 Tf 1 TL 0 700 Td '), text, Buffer.from(' ET')]);
  const flate = writeFile(buildPdf([''], { content }));
  const outcome = await host.parse({ kind: 'parse', file: flate, limits: { idleMsMax: 1_500 } });
  t.ok(
    isFailedOutcome(outcome) ? /timeout|memory|crash/.test(outcome.failure.code) : outcome.pages.length === 1,
  );
  const form =
    '<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</X0 1000 0 R>>>>/Length 13>>\n' +
    'stream\n/X0 Do /X0 Do\nendstream';
  const cycle = buildPdf([''], {
    content: Buffer.from('/X0 Do'),
    resources: '/XObject<</X0 1000 0 R>>',
    objects: [form],
  });
  const drawn = await host.render({
    kind: 'render',
    file: writeFile(cycle),
    page: 0,
    limits: { idleMsMax: 1_500 },
  });
  t.ok(drawn instanceof Uint8Array || (drawn !== null && /timeout|memory|crash/.test(drawn.failure.code)));
  t.same(pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8('after')) })), ['after']);
});

t.test('every started process has ended', (t) => checkProcessesEnded(t, 5));
