import { processLimits } from '../../src/parsing/limits.ts';
import { isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import t from '../support/tap.ts';
import { truncateBytes, utf8 } from './byte-fixtures.ts';
import { buildDocx } from './office-fixtures.ts';
import {
  checkProcessesEnded,
  createHost,
  entryFiles,
  isGone,
  moduleAt,
  pagesOf,
  startedPids,
  writeFile,
} from './parser-host-fixtures.ts';
import { buildPdf } from './pdf-fixtures.ts';

t.test('documents are parsed in one long-lived process', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const before = startedPids.length;
  const file = writeFile(buildPdf(['first', 'second'], { title: 'The title' }));
  const outcome = await host.parse({ kind: 'parse', file, path: 'a.pdf' });
  t.match(outcome, { kind: 'pdf', pages: ['first', 'second'], title: 'The title' });
  t.same(pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8('words')), path: 'b.txt' })), [
    'words',
  ]);
  t.equal(startedPids.length, before + 1);
});

t.test('the error of a process that cannot start contains the message of Node', async (t) => {
  const host = createHost(t, moduleAt('./processes/nowhere-to-be-found.js'));
  const error = await host.parse({ kind: 'parse', file: writeFile(utf8('words')) }).catch((reason) => reason);
  const [first = '', ...rest] = String(error.message).split('\n');
  t.match(first, /^parser process did not become ready: exit code 1: .*nowhere-to-be-found/);
  t.ok(
    rest.some((line) => /^ +at /.test(line)),
    'the error contains the stack',
  );
});

t.test('concurrent documents each get their own text', async (t) => {
  const hosts = [createHost(t, entryFiles.parser), createHost(t, entryFiles.parser)];
  const texts = Array.from({ length: 12 }, (_, i) => `document number ${i}`);
  const outcomes = await Promise.all(
    texts.map((text, i) => hosts[i % 2]!.parse({ kind: 'parse', file: writeFile(buildDocx([text])) })),
  );
  t.same(
    outcomes.map(pagesOf),
    texts.map((text) => [text]),
  );
});

t.test('a failure of the document is data with a code and a message, and keeps the process', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const before = startedPids.length;
  const outcome = await host.parse({ kind: 'parse', file: writeFile(new Uint8Array()) });
  t.match(outcome, { failure: { code: 'unsupported', message: /empty/ } });
  t.match(
    await host.parse({ kind: 'parse', file: writeFile(utf8('x'.repeat(99))), limits: { fileBytesMax: 50 } }),
    {
      failure: { code: 'too_large' },
    },
  );
  t.same(pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8('next')) })), ['next']);
  t.equal(startedPids.length, before + 1);
});

const crashCases: readonly {
  path: string;
  code: string;
  limits?: { idleMsMax?: number; totalMsMax?: number };
}[] = [
  { path: 'abort', code: 'crash' },
  { path: 'kill', code: 'crash' },
  { path: 'exit', code: 'crash' },
  { path: 'nonsense', code: 'crash' },
  { path: 'hang', code: 'timeout', limits: { idleMsMax: 300 } },
  { path: 'heap', code: 'memory' },
  { path: 'buffers', code: 'memory' },
];
for (const { path, code, limits } of crashCases) {
  t.test(
    `a document that makes the parser ${path} fails alone, after one more attempt in a fresh process`,
    async (t) => {
      const host = createHost(t, entryFiles.hostile);
      const before = startedPids.length;
      const file = writeFile(utf8('bait'));
      const outcome = await host.parse({
        kind: 'parse',
        file,
        path,
        ...(limits === undefined ? {} : { limits }),
      });
      t.match(outcome, { failure: { code, message: /^[A-Z].*\.$/ } });
      t.equal(startedPids.length - before, processLimits.attemptsMax);
      t.same(pagesOf(await host.parse({ kind: 'parse', file, path: 'a.txt' })), ['bait']);
    },
  );
}

t.test(
  'a process that crashed on an earlier document is replaced, and the next document is parsed',
  async (t) => {
    const host = createHost(t, entryFiles.hostile);
    const file = writeFile(utf8('bait'));
    t.same(pagesOf(await host.parse({ kind: 'parse', file, path: 'kill unless fresh' })), ['bait']);
    t.same(pagesOf(await host.parse({ kind: 'parse', file, path: 'kill unless fresh' })), ['bait']);
  },
);

t.test('a process killed between two documents is replaced without a failure', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const file = writeFile(utf8('still read'));
  await host.parse({ kind: 'parse', file });
  const pid = startedPids.at(-1)!;
  process.kill(pid, 'SIGKILL');
  await isGone(pid);
  t.same(pagesOf(await host.parse({ kind: 'parse', file })), ['still read']);
});

t.test('the second PDF engine loads in the sandbox and reports the fault of a file', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const file = writeFile(truncateBytes(buildPdf(['words']), 0.5));
  const outcome = await host.parse({ kind: 'parse', file });
  t.match(outcome, { failure: { code: 'corrupt' } });
  t.notMatch(isFailedOutcome(outcome) && outcome.failure.message, /internal error/);
});

t.test('a document of many megabytes is transferred completely', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const line = 'A line of a long text that has to arrive in order.\n';
  const text = line.repeat(400_000);
  const pages = pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8(text)), path: 'a.txt' }));
  t.equal(pages.join(''), text);
  t.same(pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8('next')) })), ['next']);
});

t.test('every started process has ended', (t) => checkProcessesEnded(t, 10));
