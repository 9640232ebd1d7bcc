import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import t from 'tap';
import { systemRandom } from '../../src/core/ids.ts';
import { type PackedTexts, unpackTexts } from '../../src/core/packed-texts.ts';
import { processLimits } from '../../src/parsing/limits.ts';
import {
  hasPageImages,
  isFailedOutcome,
  type ParsedDocument,
  type ParseOutcome,
} from '../../src/parsing/process/parse-task.ts';
import { ParserHost } from '../../src/parsing/process/parser-host.ts';
import { ParserProcessRegistry } from '../../src/parsing/process/parser-process-registry.ts';
import { sandboxUserIds } from '../../src/parsing/sandbox-users.ts';
import { findOptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { noSandbox, type Sandbox } from '../../src/parsing/tools/sandbox.ts';
import {
  detectIsolation,
  listSandboxCandidates,
  probeSandbox,
} from '../../src/parsing/tools/sandbox-probe.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { buildDocx, buildPdf, truncateBytes, utf8 } from './fixtures.ts';
import { sandboxUsersUnavailable } from './sandbox-users-unavailable.ts';

t.setTimeout(testFileMsMax);

const moduleAt = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const entryFiles = {
  parser: moduleAt('../../workers/parser-process.js'),
  hostile: moduleAt('./processes/faulty-parser-process.js'),
  intruder: moduleAt('./processes/malicious-parser-process.js'),
};
const { prlimit } = findOptionalTools();

const folder = t.testdir({});
let files = 0;
function writeFile(bytes: Uint8Array): string {
  files += 1;
  const file = join(folder, `blob-${files}`);
  writeFileSync(file, bytes);
  return file;
}

/** Running processes of all hosts of this file. */
const alivePids = new Set<number>();
const startedPids: number[] = [];

/** Sandbox that a server on this host would use for its parser processes. */
const { sandbox: strongestSandbox } = await detectIsolation('preferred', {
  ...{
    tools: findOptionalTools(),
    dataFolder: folder,
    folderOf: () => tmpdir(),
    codeFile: entryFiles.parser,
  },
  createUniqueName: () => systemRandom.uuid(),
});

function createHost(
  t: TestTeardown,
  entry: string,
  tool: string | null = prlimit,
  sandbox = strongestSandbox,
): ParserHost {
  const host = new ParserHost({
    entry,
    prlimit: tool,
    sandbox,
    onProcess: (event, pid) => {
      if (event === 'started') {
        alivePids.add(pid);
        startedPids.push(pid);
      } else alivePids.delete(pid);
    },
  });
  t.teardown(() => host.close());
  return host;
}
type TestTeardown = { teardown(action: () => unknown): void };

function pagesOf(outcome: ParseOutcome): ParsedDocument['pages'] {
  if (isFailedOutcome(outcome)) throw new Error(`${outcome.failure.code}: ${outcome.failure.message}`);
  return outcome.pages;
}

/** Waits until the process is gone or a zombie, which the kernel decides. */
async function isGone(pid: number): Promise<boolean> {
  const isDead = () => {
    const state = existsSync(`/proc/${pid}/stat`)
      ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0]
      : 'X';
    return state === 'X' || state === 'Z';
  };
  await waitUntil(`the end of process ${pid}`, isDead, 50);
  return true;
}

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
    'with the stack',
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
  t.match(outcome, { failure: { code: /too_large|memory/ } });
});

t.test('a document that keeps reporting progress is stopped at the total time limit', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const file = writeFile(buildPdf(Array.from({ length: 3_000 }, (_, i) => `page ${i}`)));
  const outcome = await host.parse({ kind: 'parse', file, limits: { totalMsMax: 1 } });
  t.match(outcome, { failure: { code: 'timeout', message: /in total/ } });
});

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

const sandboxes: readonly Sandbox[] = [noSandbox, ...listSandboxCandidates(findOptionalTools())];
for (const sandbox of sandboxes) {
  t.test(
    `level ${sandbox.level}: a process that is taken over reaches neither files nor programs`,
    async (t) => {
      const data = mkdtempSync(join(tmpdir(), 'quarry-parser-'));
      t.teardown(() => rmSync(data, { recursive: true, force: true }));
      const [secretFile, otherBlob] = [join(data, 'secrets.json'), join(data, 'other-blob')];
      writeFileSync(secretFile, 'secret', { mode: 0o600 });
      writeFileSync(otherBlob, 'the document of another organization', { mode: 0o600 });
      const probe = await probeSandbox(sandbox, {
        ...{
          tools: findOptionalTools(),
          dataFolder: data,
          folderOf: () => tmpdir(),
          codeFile: entryFiles.parser,
        },
        createUniqueName: () => systemRandom.uuid(),
      });
      if (sandbox !== noSandbox && typeof probe === 'string') {
        t.comment(`this host does not offer the level ${sandbox.level}: ${probe}`);
        return;
      }
      const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
      t.teardown(() => listener.close());
      await once(listener, 'listening');
      const { port } = listener.address() as AddressInfo;
      const host = createHost(t, entryFiles.intruder, prlimit, sandbox);
      const path = JSON.stringify({ secretFile, otherBlob, data, port, serverPid: process.pid });
      const outcome = await host.parse({ kind: 'parse', file: writeFile(utf8('its own words')), path });
      const warnings = isFailedOutcome(outcome) ? [outcome.failure.message] : outcome.warnings;
      t.match(warnings, [
        'read what it was sent: its own words',
        /^read secrets\.json: E/,
        /^read another document: E/,
        /^list the data: E/,
        /^read the memory of the server: E/,
        /^read elsewhere: E/,
        /^write: E/,
        /^start a program: E/,
        /^environment: $/,
      ]);
      const isSilent = ['bubblewrap', 'namespaces', 'user+network', 'network'].includes(sandbox.level);
      t.match(warnings.at(-1), isSilent ? /^connect: E/ : /^connect: allowed/);
    },
  );
}

t.test('no process parses documents of two organizations', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const before = startedPids.length;
  const parse = async (organizationId: string, text: string) =>
    pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8(text)), organizationId }));
  for (const [organizationId, text] of [
    ['a', 'one'],
    ['a', 'two'],
    ['b', 'three'],
    ['b', 'four'],
    ['a', 'five'],
  ] as const)
    t.same(await parse(organizationId, text), [text]);
  // Three changes of the organization need one process each; the fourth waits for the next organization.
  t.equal(startedPids.length - before, 4);
  await host.close();
  for (const pid of startedPids.slice(before)) t.ok(await isGone(pid));
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

t.test('a PDF page is rendered as JPEG within the size limit for every page box', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const { default: sharp } = await import('sharp');
  const sizeOf = async (bytes: Uint8Array, options: { widthMax?: number } = {}) => {
    const image = await host.render({ kind: 'render', file: writeFile(bytes), page: 0, ...options });
    if (image === null || isFailedOutcome(image)) throw new Error('no image');
    const { format, width, height } = await sharp(image).metadata();
    return { format, width, height };
  };
  t.same(await sizeOf(buildPdf(['text'])), { format: 'jpeg', width: 935, height: 1_210 });
  t.same(await sizeOf(buildPdf(['text']), { widthMax: 306 }), {
    format: 'jpeg',
    width: 306,
    height: 396,
  });
  const vast = await sizeOf(buildPdf(['text'], { mediaBox: [0, 0, 14_000, 14_000] }));
  t.ok(vast.width <= 2_000 && vast.height <= 2_000);
});

t.test('a page image shows the content of the page', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const { default: sharp } = await import('sharp');
  const content = Buffer.from('1 0 0 rg 0 396 612 396 re f 0 0 1 rg 0 0 612 396 re f');
  const image = await host.render({ kind: 'render', file: writeFile(buildPdf([''], { content })), page: 0 });
  if (image === null || isFailedOutcome(image)) throw new Error('no image');
  const { data, info } = await sharp(image).raw().toBuffer({ resolveWithObject: true });
  const pixel = (y: number) => [...data.subarray((y * info.width + 400) * 3, (y * info.width + 400) * 3 + 3)];
  const [red, blue] = [pixel(100), pixel(info.height - 100)];
  t.ok(red[0]! > 240 && red[2]! < 15, `red above: ${red}`);
  t.ok(blue[2]! > 240 && blue[0]! < 15, `blue below: ${blue}`);
});

t.test('rendering a kind without page images returns null', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const pdf = writeFile(buildPdf(['one']));
  t.equal(await host.render({ kind: 'render', file: pdf, page: 1 }), null);
  t.equal(await host.render({ kind: 'render', file: pdf, page: -1 }), null);
  t.equal(await host.render({ kind: 'render', file: writeFile(buildDocx(['x'])), page: 0 }), null);
  t.same(
    [hasPageImages('always', false), hasPageImages('with-office', false), hasPageImages('with-office', true)],
    [true, false, true],
  );
  t.notOk(hasPageImages('never', true));
});

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

t.test(
  'level user: concurrent parser processes never share a user',
  { skip: sandboxUsersUnavailable(findOptionalTools().setpriv) },
  async (t) => {
    const sandbox = listSandboxCandidates(findOptionalTools()).find(({ level }) => level === 'user');
    if (sandbox === undefined) throw new Error('root with setpriv offers the level user');
    const userOf = (pid: number) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const before = new Set(alivePids);
    const hosts = [1, 2].map(() => createHost(t, entryFiles.parser, prlimit, sandbox));
    // At its second organization, a host starts a spare process for the next one beside the running process.
    for (const organizationId of ['a', 'b'])
      await Promise.all(
        hosts.map((host, i) =>
          host.parse({
            kind: 'parse',
            file: writeFile(utf8('words')),
            organizationId: `${organizationId}${i}`,
          }),
        ),
      );
    const news = () => [...alivePids].filter((pid) => !before.has(pid));
    const users = () => news().map((pid) => Number(userOf(pid)));
    // A process starts as root and changes its user before it runs any code of the parser.
    await waitUntil(
      'four processes, two of each host, that have left root',
      () => users().length === 4 && users().every((user) => user >= sandboxUserIds.first),
    );
    t.equal(new Set(users()).size, 4, users().join(' '));
  },
);

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
  const first = canceled.parse(bait, undefined, cancellation.signal);
  await sleep(20);
  cancellation.abort();
  t.match(await first, { failure: { code: 'timeout' } });
  const closed = createHost(t, entryFiles.hostile);
  const second = closed.parse({ kind: 'parse', file: writeFile(utf8('bait')), path: 'hang' });
  await sleep(20);
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

t.test('every started process has ended', async (t) => {
  t.ok(startedPids.length > 10);
  for (const pid of alivePids) t.ok(await isGone(pid), String(pid));
});
