import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { systemRandom } from '../../src/core/ids.ts';
import { openToolEnvironment } from '../../src/parsing/tools/open-tools.ts';
import { findOptionalTools, type OptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { noSandbox, type Sandbox } from '../../src/parsing/tools/sandbox.ts';
import {
  detectIsolation,
  listSandboxCandidates,
  probeSandbox,
} from '../../src/parsing/tools/sandbox-probe.ts';
import { ToolRunner } from '../../src/parsing/tools/tool-runner.ts';
import { ToolServer } from '../../src/parsing/tools/tool-server.ts';
import t, { type Test } from '../support/tap.ts';
import { countConnections } from './connection-counter.ts';
import { buildDocxWithLinks, buildOdtWithLinks } from './link-fixtures.ts';
import { sandboxUsersUnavailable } from './sandbox-users-unavailable.ts';

/** Access of external programs to the server's data and the network, at each isolation level available on this host. */

t.setTimeout(900_000);
const found = findOptionalTools();
const secret = 'the-secret-of-the-server';
const receiptImage = { create: { width: 40, height: 40, channels: 3, background: '#c00' } } as const;
const createUniqueName = () => systemRandom.uuid();

interface IsolationFixture {
  readonly data: string;
  readonly secretFile: string;
  /** Folder of temporary files, outside of the data directory for levels with a separate user. */
  readonly folder: string;
  readonly derivedFolder: string;
}

function createFixture(t: Test): IsolationFixture {
  const base = mkdtempSync(join(tmpdir(), 'quarry-isolation-'));
  t.teardown(() => rmSync(base, { recursive: true, force: true }));
  chmodSync(base, 0o711);
  const [data, folder] = [join(base, 'data'), join(base, 'tools')];
  const derivedFolder = join(data, 'made');
  mkdirSync(derivedFolder, { recursive: true });
  mkdirSync(folder, { mode: 0o711 });
  chmodSync(data, 0o700);
  const secretFile = join(data, 'secrets.json');
  writeFileSync(secretFile, secret, { mode: 0o600 });
  return { data, secretFile, folder, derivedFolder };
}

function probeOptions({ data, folder }: IsolationFixture, tools: OptionalTools) {
  const codeFile = join(import.meta.dirname, 'isolation.test.js');
  return { tools, dataFolder: data, folderOf: () => folder, codeFile, createUniqueName };
}

function createToolServer(
  t: Test,
  { folder, derivedFolder }: IsolationFixture,
  sandbox: Sandbox,
  tools = found,
): ToolServer {
  const freeBytes = async () => Number.MAX_SAFE_INTEGER;
  const runner = new ToolRunner({ tools, sandbox, folder, createUniqueName, getFreeBytes: freeBytes });
  const ocrEngine = {
    name: 'off',
    recognize: async () => ({ kind: 'missing', message: '' }) as const,
    close: async () => {},
  };
  const converted = {
    folder: derivedFolder,
    find: async () => null,
    add: async (_: string, file: string) => file,
  };
  const toolServer = new ToolServer({
    runner,
    ocrEngine,
    converted,
    office: true,
    disabledReason: null,
    runningMax: 1,
    createUniqueName,
  });
  t.teardown(() => toolServer.close());
  return toolServer;
}

const hidesData: readonly string[] = ['bubblewrap', 'namespaces', 'user+network', 'user'];
const hidesNetwork: readonly string[] = ['bubblewrap', 'namespaces', 'user+network', 'network'];

for (const sandbox of [...listSandboxCandidates(found), noSandbox]) {
  const { level } = sandbox;
  t.test(`level ${level}: programs reach data and network only as the level allows`, async (t) => {
    const fixture = createFixture(t);
    const result = sandbox === noSandbox ? null : await probeSandbox(sandbox, probeOptions(fixture, found));
    if (typeof result === 'string') {
      t.comment(`this host does not offer the level ${level}: ${result}`);
      return;
    }
    const { port, connections } = await countConnections(t);
    const shell = { ...found, pdftoppm: '/bin/bash' };
    const runner = new ToolRunner({
      tools: shell,
      sandbox,
      folder: fixture.folder,
      createUniqueName,
      getFreeBytes: async () => 0,
    });
    const script = [
      `cat ${fixture.secretFile}; ls ${fixture.data}; ls /proc/${process.pid}/root${fixture.data}`,
      `(exec 5<>/dev/tcp/127.0.0.1/${port}); echo own > own; cat own`,
      'echo broken > /usr/share/quarry-broken && rm /usr/share/quarry-broken && echo writable',
    ].join('; ');
    const end = await runner.withTemporaryFolder((folder) =>
      runner.run({
        tool: 'pdftoppm',
        flags: ['-c', `${script}; exit 0`],
        folder,
        msMax: 120_000,
        memoryBytesMax: 500_000_000,
        fileBytesMax: 1_000_000,
        outputBytesMax: 100_000,
        signal: new AbortController().signal,
      }),
    );
    const output = end.outcome === 'exited' ? end.output.toString() : end.outcome;
    t.match(output, /own/, 'a program can write to its own folder');
    t.equal(output.includes(secret), !hidesData.includes(level), 'access to the secret');
    t.equal(output.includes('made'), !hidesData.includes(level), 'access to the data directory');
    t.equal(connections() > 0, !hidesNetwork.includes(level), 'access to the network');
    if (hidesData.includes(level)) t.notMatch(output, /writable/, 'no other folder is writable');
    if (result !== null)
      t.match(result, { hidesData: hidesData.includes(level), hidesNetwork: hidesNetwork.includes(level) });
  });

  t.test(
    `level ${level}: LibreOffice follows no link of a document to a file or an address`,
    { skip: found.soffice === null && 'needs LibreOffice' },
    async (t) => {
      const fixture = createFixture(t);
      if (sandbox !== noSandbox) {
        const result = await probeSandbox(sandbox, probeOptions(fixture, found));
        if (typeof result === 'string') {
          t.comment(`this host does not offer the level ${level}: ${result}`);
          return;
        }
      }
      const { port, connections } = await countConnections(t);
      writeFileSync(`${fixture.secretFile}.png`, await sharp(receiptImage).png().toBuffer());
      const toolServer = createToolServer(t, fixture, sandbox);
      const targets = { secretFile: fixture.secretFile, address: `http://127.0.0.1:${port}` };
      const odt = { from: 'odt', bytes: buildOdtWithLinks(targets) } as const;
      const docx = { from: 'docx', bytes: buildDocxWithLinks(targets) } as const;
      // Where nothing else prevents an access, both formats show that LibreOffice ignores links.
      for (const { from, bytes } of sandbox === noSandbox ? [odt, docx] : [odt]) {
        const file = join(fixture.data, `document-${from}`);
        writeFileSync(file, bytes);
        const { reply } = await toolServer.execute(
          { kind: 'convert', file, from, to: 'pdf', msMax: 300_000 },
          new AbortController().signal,
        );
        t.match(reply, { kind: 'file' }, from);
        const pdf = reply.kind === 'file' ? readFileSync(reply.file, 'latin1') : '';
        t.match(pdf, /^%PDF/, `${from} is converted`);
        t.notMatch(pdf, /\/Subtype\s*\/Image/, `${from} shows no linked image`);
        t.equal(connections(), 0, `${from} connects to nothing`);
      }
    },
  );
}

t.test(
  'a server without root supports the namespace levels',
  { skip: process.getuid?.() !== 0 && 'needs root, to change the user' },
  async (t) => {
    const base = mkdtempSync(join(tmpdir(), 'quarry-isolation-'));
    t.teardown(() => rmSync(base, { recursive: true, force: true }));
    const someone = { uid: 65_534, gid: 65_534 };
    chownSync(base, someone.uid, someone.gid);
    const options = { ...someone, env: {}, encoding: 'utf8' } as const;
    const mayMakeNamespaces = spawnSync('/usr/bin/unshare', ['--map-root-user', '--mount', 'true'], options);
    if (mayMakeNamespaces.status !== 0) return t.comment('this host allows namespaces to root only');
    const entry = join(import.meta.dirname, 'processes', 'sandbox-probe-process.js');
    if (spawnSync('/usr/bin/test', ['-r', entry], options).status !== 0)
      return t.comment('other users cannot read this project');
    // `tap run` adds its loaders to NODE_OPTIONS, whose files the sandbox hides.
    const command = ['-u', 'NODE_OPTIONS', process.execPath, entry, base];
    const { status, stdout, stderr } = spawnSync('/usr/bin/env', command, options);
    t.equal(status, 0, stderr);
    const levels = JSON.parse(stdout) as Record<string, unknown>;
    t.notOk('user' in levels, 'only root can change the user');
    for (const level of ['bubblewrap', 'namespaces'])
      if (level in levels) t.match(levels[level], { hidesData: true, hidesNetwork: true }, level);
    t.match(levels.network, { hidesData: false, hidesNetwork: true });
  },
);

t.test('a result file that is a link is not read', async (t) => {
  const fixture = createFixture(t);
  const program = (name: string, script: string) => {
    const file = join(fixture.data, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return file;
  };
  const tools = {
    ...findOptionalTools([]),
    pdftoppm: program('draw', `ln -s ${fixture.secretFile} page.png`),
    'heif-convert': program('open', `ln ${fixture.secretFile} image.jpg`),
    soffice: program('office', `ln -s ${fixture.data} result`),
  };
  const toolServer = createToolServer(t, fixture, noSandbox, tools);
  const file = join(fixture.data, 'document');
  writeFileSync(file, 'a document');
  const { signal } = new AbortController();
  const drawn = await toolServer.execute(
    { kind: 'draw', file, page: 0, dotsPerInch: 72, msMax: 60_000 },
    signal,
  );
  t.match(drawn.reply, { kind: 'failed', code: 'corrupt' });
  const opened = await toolServer.execute({ kind: 'open-heif', file, msMax: 60_000 }, signal);
  t.match(opened.reply, { kind: 'failed', code: 'corrupt' });
  const converted = await toolServer.execute(
    { kind: 'convert', file, from: 'odt', to: 'pdf', msMax: 60_000 },
    signal,
  );
  t.match(converted.reply, { kind: 'failed', code: 'corrupt' });
  t.equal(readFileSync(fixture.secretFile, 'utf8'), secret);
});

t.test('a sandbox that exposes the data directory is detected and not used', async (t) => {
  const [strongest] = listSandboxCandidates(found);
  if (strongest === undefined) return t.comment('this host offers no level');
  const fixture = createFixture(t);
  const options = { ...probeOptions(fixture, found), codeFile: fixture.data };
  t.not((await detectIsolation('preferred', options)).sandbox.level, strongest.level);
});

t.test('required isolation that is not available disables programs and logs the reason', async (t) => {
  const fixture = createFixture(t);
  const tools = {
    ...found,
    bwrap: null,
    unshare: null,
    setpriv: null,
    soffice: '/bin/true',
    tesseract: '/bin/true',
  };
  const options = {
    installedTools: tools,
    dataFolder: fixture.data,
    folder: fixture.folder,
    office: true,
    runningMax: 1,
    createUniqueName,
    ocrLanguages: 'eng',
    ocrDataFolder: null,
    converted: {
      folder: fixture.derivedFolder,
      find: async () => null,
      add: async (_: string, file: string) => file,
    },
  };
  const required = { ...options, isolation: 'required', ocrEngine: 'off' } as const;
  const { toolServer, isolation, listStates: states } = await openToolEnvironment(required);
  t.teardown(() => toolServer.close());
  t.match(isolation, { sandbox: { level: 'none' }, isFull: false, detail: /^none: programs can read/ });
  t.equal(toolServer.hasOffice, false);
  const file = fixture.secretFile;
  const { signal } = new AbortController();
  const { reply } = await toolServer.execute(
    { kind: 'convert', file, from: 'odt', to: 'pdf', msMax: 60_000 },
    signal,
  );
  t.match(reply, { kind: 'missing', message: /QUARRY_TOOLS_ISOLATION is required, but/ });
  const soffice = states().find(({ name }) => name === 'tool soffice');
  t.match(soffice, { found: false, detail: /QUARRY_TOOLS_ISOLATION is required/ });
  await t.rejects(
    openToolEnvironment({ ...required, ocrEngine: 'tesseract' }),
    /QUARRY_TOOLS_ISOLATION is required/,
  );
  const off = await openToolEnvironment({ ...options, isolation: 'off', ocrEngine: 'off' });
  t.teardown(() => off.toolServer.close());
  t.match(off.isolation, { sandbox: { level: 'none' }, detail: /^off/ });
  t.equal(off.toolServer.hasOffice, true);
});

t.test(
  'without namespaces the tools run as users that cannot enter the data directory, in a folder outside of it',
  { skip: sandboxUsersUnavailable(found.setpriv) },
  async (t) => {
    const fixture = createFixture(t);
    const inside = join(fixture.data, 'cache', 'tools');
    const { toolServer, isolation } = await openToolEnvironment({
      installedTools: { ...found, bwrap: null, unshare: null },
      isolation: 'preferred',
      dataFolder: fixture.data,
      folder: inside,
      office: true,
      runningMax: 1,
      ocrEngine: 'off',
      ocrLanguages: 'eng',
      ocrDataFolder: null,
      createUniqueName,
      converted: {
        folder: fixture.derivedFolder,
        find: async () => null,
        add: async (_: string, file: string) => file,
      },
    });
    t.teardown(() => toolServer.close());
    t.equal(isolation.sandbox.level, 'user', isolation.detail);
    t.notOk(existsSync(inside), 'no folder in the data directory');
  },
);
