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
import t, { type Test } from 'tap';
import { systemChance } from '../../src/base/ids.ts';
import { openTools } from '../../src/parsing/open-tools.ts';
import { type OptionalTools, optionalTools } from '../../src/parsing/optional-tools.ts';
import { noSandbox, type Sandbox } from '../../src/parsing/sandbox.ts';
import { openIsolation, probeSandbox, sandboxCandidates } from '../../src/parsing/sandbox-probe.ts';
import { ToolDesk } from '../../src/parsing/tool-desk.ts';
import { ToolRunner } from '../../src/parsing/tool-runner.ts';
import { linkingDocx, linkingOdt } from './link-fixtures.ts';
import { countConnections } from './loopback.ts';
import { sandboxUsersUnavailable } from './sandbox-users-unavailable.ts';

/** What programs can reach of the data of the server and of the network, at each level that this host offers. */

t.setTimeout(900_000);
const found = optionalTools();
const secret = 'the-secret-of-the-server';
const picture = { create: { width: 40, height: 40, channels: 3, background: '#c00' } } as const;
const freshName = () => systemChance.uuid();

interface Place {
  readonly data: string;
  readonly secretFile: string;
  /** Folder of temporary files, outside of the data for levels with a user of their own. */
  readonly folder: string;
  readonly made: string;
}

function placeOf(t: Test): Place {
  const base = mkdtempSync(join(tmpdir(), 'quarry-isolation-'));
  t.teardown(() => rmSync(base, { recursive: true, force: true }));
  chmodSync(base, 0o711);
  const [data, folder] = [join(base, 'data'), join(base, 'tools')];
  const made = join(data, 'made');
  mkdirSync(made, { recursive: true });
  mkdirSync(folder, { mode: 0o711 });
  chmodSync(data, 0o700);
  const secretFile = join(data, 'secrets.json');
  writeFileSync(secretFile, secret, { mode: 0o600 });
  return { data, secretFile, folder, made };
}

function probeOptions({ data, folder }: Place, tools: OptionalTools) {
  const codeFile = join(import.meta.dirname, 'isolation.test.js');
  return { tools, dataFolder: data, folderOf: () => folder, codeFile, freshName };
}

function deskOf(t: Test, { folder, made }: Place, sandbox: Sandbox, tools = found): ToolDesk {
  const freeBytes = async () => Number.MAX_SAFE_INTEGER;
  const runner = new ToolRunner({ tools, sandbox, folder, freshName, freeBytes });
  const recogniser = {
    name: 'off',
    recognise: async () => ({ kind: 'missing', message: '' }) as const,
    close: async () => {},
  };
  const converted = { folder: made, find: async () => null, keep: async (_: string, file: string) => file };
  const desk = new ToolDesk({
    ...{ runner, recogniser, converted, office: true, refusal: null, runningMax: 1, freshName },
  });
  t.teardown(() => desk.close());
  return desk;
}

const hidesData: readonly string[] = ['bubblewrap', 'namespaces', 'user+network', 'user'];
const hidesNetwork: readonly string[] = ['bubblewrap', 'namespaces', 'user+network', 'network'];

for (const sandbox of [...sandboxCandidates(found), noSandbox]) {
  const { level } = sandbox;
  t.test(`level ${level}: programs reach neither data nor network as far as it promises`, async (t) => {
    const place = placeOf(t);
    const result = sandbox === noSandbox ? null : await probeSandbox(sandbox, probeOptions(place, found));
    if (typeof result === 'string') {
      t.comment(`this host does not offer the level ${level}: ${result}`);
      return;
    }
    const { port, connections } = await countConnections(t);
    const shell = { ...found, pdftoppm: '/bin/bash' };
    const runner = new ToolRunner({
      ...{ tools: shell, sandbox, folder: place.folder, freshName, freeBytes: async () => 0 },
    });
    const script = [
      `cat ${place.secretFile}; ls ${place.data}; ls /proc/${process.pid}/root${place.data}`,
      `(exec 5<>/dev/tcp/127.0.0.1/${port}); echo own > own; cat own`,
      'echo broken > /usr/share/quarry-broken && rm /usr/share/quarry-broken && echo writable',
    ].join('; ');
    const end = await runner.withFolder((folder) =>
      runner.run({
        ...{ tool: 'pdftoppm', flags: ['-c', `${script}; exit 0`], folder, msMax: 120_000 },
        ...{ memoryBytesMax: 500_000_000, fileBytesMax: 1_000_000, outputBytesMax: 100_000 },
        signal: new AbortController().signal,
      }),
    );
    const output = end.how === 'exited' ? end.output.toString() : end.how;
    t.match(output, /own/, 'a program may write to its own folder');
    t.equal(output.includes(secret), !hidesData.includes(level), 'the secret is read');
    t.equal(output.includes('made'), !hidesData.includes(level), 'the data directory is listed');
    t.equal(connections() > 0, !hidesNetwork.includes(level), 'the network is reached');
    if (hidesData.includes(level)) t.notMatch(output, /writable/, 'nothing else is written');
    if (result !== null)
      t.match(result, { hidesData: hidesData.includes(level), hidesNetwork: hidesNetwork.includes(level) });
  });

  t.test(
    `level ${level}: LibreOffice follows no link of a document to a file or an address`,
    { skip: found.soffice === null && 'needs LibreOffice' },
    async (t) => {
      const place = placeOf(t);
      if (sandbox !== noSandbox) {
        const result = await probeSandbox(sandbox, probeOptions(place, found));
        if (typeof result === 'string') {
          t.comment(`this host does not offer the level ${level}: ${result}`);
          return;
        }
      }
      const { port, connections } = await countConnections(t);
      writeFileSync(`${place.secretFile}.png`, await sharp(picture).png().toBuffer());
      const desk = deskOf(t, place, sandbox);
      const targets = { secretFile: place.secretFile, address: `http://127.0.0.1:${port}` };
      const documents = { odt: linkingOdt(targets), docx: linkingDocx(targets) } as const;
      for (const [from, bytes] of Object.entries(documents) as ['odt' | 'docx', Uint8Array][]) {
        const file = join(place.data, `document-${from}`);
        writeFileSync(file, bytes);
        const { reply } = await desk.ask(
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
  'a server that is not root has the levels with namespaces, too',
  { skip: process.getuid?.() !== 0 && 'needs root, to become somebody else' },
  async (t) => {
    const base = mkdtempSync(join(tmpdir(), 'quarry-isolation-'));
    t.teardown(() => rmSync(base, { recursive: true, force: true }));
    const someone = { uid: 65_534, gid: 65_534 };
    chownSync(base, someone.uid, someone.gid);
    const options = { ...someone, env: {}, encoding: 'utf8' } as const;
    const mayMakeNamespaces = spawnSync('/usr/bin/unshare', ['--map-root-user', '--mount', 'true'], options);
    if (mayMakeNamespaces.status !== 0) return t.comment('this host allows namespaces to root only');
    const entry = join(import.meta.dirname, 'processes', 'probe-process.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, base], options);
    if (/EACCES|ERR_MODULE_NOT_FOUND/.test(stderr)) return t.comment('others may not read this project');
    t.equal(status, 0, stderr);
    const levels = JSON.parse(stdout) as Record<string, unknown>;
    t.notOk('user' in levels, 'only root can become another user');
    for (const level of ['bubblewrap', 'namespaces'])
      if (level in levels) t.match(levels[level], { hidesData: true, hidesNetwork: true }, level);
    t.match(levels.network, { hidesData: false, hidesNetwork: true });
  },
);

t.test('a program that leaves a link in the place of its result gets nothing read for it', async (t) => {
  const place = placeOf(t);
  const program = (name: string, script: string) => {
    const file = join(place.data, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return file;
  };
  const tools = {
    ...optionalTools([]),
    pdftoppm: program('draw', `ln -s ${place.secretFile} page.png`),
    'heif-convert': program('open', `ln ${place.secretFile} image.jpg`),
    soffice: program('office', `ln -s ${place.data} result`),
  };
  const desk = deskOf(t, place, noSandbox, tools);
  const file = join(place.data, 'document');
  writeFileSync(file, 'a document');
  const { signal } = new AbortController();
  const drawn = await desk.ask({ kind: 'draw', file, page: 0, dotsPerInch: 72, msMax: 60_000 }, signal);
  t.match(drawn.reply, { kind: 'failed', code: 'corrupt' });
  const opened = await desk.ask({ kind: 'open-heif', file, msMax: 60_000 }, signal);
  t.match(opened.reply, { kind: 'failed', code: 'corrupt' });
  const converted = await desk.ask({ kind: 'convert', file, from: 'odt', to: 'pdf', msMax: 60_000 }, signal);
  t.match(converted.reply, { kind: 'failed', code: 'corrupt' });
  t.equal(readFileSync(place.secretFile, 'utf8'), secret);
});

t.test('a data directory that a sandbox would show is noticed, and the sandbox is not used', async (t) => {
  const [strongest] = sandboxCandidates(found);
  if (strongest === undefined) return t.comment('this host offers no level');
  const place = placeOf(t);
  const options = { ...probeOptions(place, found), codeFile: place.data };
  t.not((await openIsolation('preferred', options)).sandbox.level, strongest.level);
});

t.test('isolation that is required and not to be had leaves the programs aside and says why', async (t) => {
  const place = placeOf(t);
  const tools = {
    ...found,
    bwrap: null,
    unshare: null,
    setpriv: null,
    soffice: '/bin/true',
    tesseract: '/bin/true',
  };
  const options = {
    ...{ found: tools, dataFolder: place.data, folder: place.folder, office: true, runningMax: 1, freshName },
    ...{ ocrLanguages: 'eng', ocrDataFolder: null },
    converted: { folder: place.made, find: async () => null, keep: async (_: string, file: string) => file },
  };
  const required = { ...options, isolation: 'required', ocrEngine: 'off' } as const;
  const { desk, isolation, states } = await openTools(required);
  t.teardown(() => desk.close());
  t.match(isolation, { sandbox: { level: 'none' }, isFull: false, detail: /^none: programs can read/ });
  t.equal(desk.hasOffice, false);
  const file = place.secretFile;
  const { signal } = new AbortController();
  const { reply } = await desk.ask({ kind: 'convert', file, from: 'odt', to: 'pdf', msMax: 60_000 }, signal);
  t.match(reply, { kind: 'missing', message: /QUARRY_TOOLS_ISOLATION is required, but/ });
  const soffice = states().find(({ name }) => name === 'tool soffice');
  t.match(soffice, { found: false, detail: /QUARRY_TOOLS_ISOLATION is required/ });
  await t.rejects(openTools({ ...required, ocrEngine: 'tesseract' }), /QUARRY_TOOLS_ISOLATION is required/);
  const off = await openTools({ ...options, isolation: 'off', ocrEngine: 'off' });
  t.teardown(() => off.desk.close());
  t.match(off.isolation, { sandbox: { level: 'none' }, detail: /^off/ });
  t.equal(off.desk.hasOffice, true);
});

t.test(
  'without namespaces the tools run as users that cannot enter the data directory, in a folder outside of it',
  { skip: sandboxUsersUnavailable(found.setpriv) },
  async (t) => {
    const place = placeOf(t);
    const inside = join(place.data, 'cache', 'tools');
    const { desk, isolation } = await openTools({
      ...{ found: { ...found, bwrap: null, unshare: null }, isolation: 'preferred' },
      ...{ dataFolder: place.data, folder: inside, office: true, runningMax: 1 },
      ...{ ocrEngine: 'off', ocrLanguages: 'eng', ocrDataFolder: null, freshName },
      converted: {
        folder: place.made,
        find: async () => null,
        keep: async (_: string, file: string) => file,
      },
    });
    t.teardown(() => desk.close());
    t.equal(isolation.sandbox.level, 'user', isolation.detail);
    t.notOk(existsSync(inside), 'no folder in the data directory');
  },
);
