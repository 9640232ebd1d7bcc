import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { allocateUser, newSandboxUsers, releaseUser } from '../sandbox-users.ts';
import { chownFolder } from './file-ownership.ts';
import type { OptionalTools } from './optional-tools.ts';
import { noSandbox, type Sandbox, wrapCommand } from './sandbox.ts';

export const isolationModes = ['required', 'preferred', 'off'] as const;
export type IsolationMode = (typeof isolationModes)[number];

export interface ProbeOptions {
  readonly tools: OptionalTools;
  /** Folder of the server data, which must not be readable in a sandbox. */
  readonly dataFolder: string;
  /**
   * Returns the parent of the probe's folder, which depends on whether the level shares the user of the
   * server.
   */
  readonly folderOf: (sandbox: Sandbox) => string;
  /** Code file that parser processes must be able to read. */
  readonly codeFile: string;
  readonly createUniqueName: () => string;
}

/** Measured isolation of a level, found by running a program in it. */
export interface ProbeResult {
  readonly sandbox: Sandbox;
  /** Whether programs cannot read the data directory. */
  readonly hidesData: boolean;
  /** Whether programs cannot connect to an address of this machine. */
  readonly hidesNetwork: boolean;
}

export interface Isolation {
  readonly mode: IsolationMode;
  readonly sandbox: Sandbox;
  /** Whether programs can neither read the data nor reach the network. */
  readonly isFull: boolean;
  /** Description of the level in force and of why stronger levels failed, in readable form. */
  readonly detail: string;
}

/**
 * Milliseconds for one probe: long, because a probe that fails on a busy machine weakens the server until its
 * next start.
 */
const probeMsMax = 60_000;

/**
 * Returns all levels that the programs of this host might support, strongest first; a probe determines which
 * of them work.
 */
export function listSandboxCandidates({ bwrap, unshare, setpriv }: OptionalTools): Sandbox[] {
  const isRoot = process.getuid?.() === 0;
  const namespaces = ['--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child=SIGKILL'];
  const mapped = (flag: string) => (isRoot ? [] : [flag]);
  const candidates: Sandbox[] = [];
  if (bwrap !== null) candidates.push({ level: 'bubblewrap', launcher: [bwrap], setpriv: null, users: null });
  if (unshare !== null && setpriv !== null) {
    const launcher = [unshare, ...mapped('--map-root-user'), '--mount', ...namespaces];
    candidates.push({ level: 'namespaces', launcher, setpriv, users: null });
  }
  const users = newSandboxUsers();
  if (setpriv !== null && isRoot) {
    if (unshare !== null)
      candidates.push({ level: 'user+network', launcher: [unshare, ...namespaces], setpriv, users });
    candidates.push({ level: 'user', launcher: [], setpriv, users });
  }
  if (unshare !== null) {
    const launcher = [unshare, ...mapped('--map-current-user'), ...namespaces];
    candidates.push({ level: 'network', launcher, setpriv: null, users: null });
  }
  return candidates;
}

/**
 * Returns the strongest level that works here, determined by a program that tries to read the data and to
 * open a socket.
 */
export async function detectIsolation(mode: IsolationMode, options: ProbeOptions): Promise<Isolation> {
  if (mode === 'off')
    return { mode, sandbox: noSandbox, isFull: false, detail: 'off (QUARRY_TOOLS_ISOLATION)' };
  const reasons: string[] = [];
  for (const candidate of listSandboxCandidates(options.tools)) {
    const result = await probeSandbox(candidate, options);
    if (typeof result === 'string') {
      reasons.push(`${candidate.level}: ${result}`);
      continue;
    }
    const isFull = result.hidesData && result.hidesNetwork;
    return { mode, sandbox: candidate, isFull, detail: describeIsolation(result, reasons) };
  }
  return { mode, sandbox: noSandbox, isFull: false, detail: describeIsolation(null, reasons) };
}

function describeIsolation(result: ProbeResult | null, reasons: readonly string[]): string {
  const reasonText = reasons.length === 0 ? '' : `; ${reasons.join('; ')}`;
  if (result === null)
    return `none: programs can read all files that the server can read${reasonText || '; neither bwrap nor unshare is installed (Debian: bubblewrap)'}`;
  const { sandbox, hidesData, hidesNetwork } = result;
  const gaps = [
    ...(hidesData ? [] : ['programs can read the data directory']),
    ...(hidesNetwork ? [] : ['programs can reach the network']),
  ];
  return gaps.length === 0 ? sandbox.level : `${sandbox.level}: ${gaps.join(', ')}${reasonText}`;
}

/** Runs inside the sandbox and writes its findings to `found.json` in its folder. */
const probeCode = `
const { accessSync, readFileSync, writeFileSync } = require('node:fs');
const { connect } = require('node:net');
const [secret, code, port] = process.argv.slice(1);
const isDenied = (action) => { try { action(); return false; } catch { return true; } };
const found = { hidesData: isDenied(() => readFileSync(secret)), hidesCode: isDenied(() => accessSync(code)) };
const tell = (hidesNetwork) => {
  writeFileSync('found.json', JSON.stringify({ ...found, hidesNetwork }));
  process.exit(0);
};
connect(Number(port), '127.0.0.1').on('connect', () => tell(false)).on('error', () => tell(true));
`;

/** Returns the measured isolation of a sandbox, or, as a string, why it cannot be used here. */
export async function probeSandbox(
  sandbox: Sandbox,
  { dataFolder, folderOf, codeFile, createUniqueName: freshName }: ProbeOptions,
): Promise<ProbeResult | string> {
  const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  const folder = join(folderOf(sandbox), freshName());
  const userId = sandbox.users === null ? null : allocateUser(sandbox.users);
  const secret = join(dataFolder, `probe-${freshName()}`);
  try {
    await once(listener, 'listening');
    await mkdir(folder, { mode: 0o700 });
    await writeFile(secret, 'secret', { mode: 0o600, flag: 'wx' });
    if (userId !== null) await chownFolder(folder, userId);
    const { port } = listener.address() as AddressInfo;
    const program = [process.execPath, '-e', probeCode, secret, codeFile, `${port}`];
    const readable = [process.execPath, codeFile];
    const failure = await runProbe(wrapCommand(sandbox, { program, folder, readable, userId }), folder);
    if (failure !== null) return failure;
    const found = JSON.parse(await readFile(join(folder, 'found.json'), 'utf8'));
    const { hidesData, hidesNetwork } = found;
    if (found.hidesCode) return 'the server code is not readable inside';
    if (!hidesData && !hidesNetwork) return 'it provides no isolation';
    if (sandbox.level !== 'network' && !hidesData) return 'the data directory is readable inside';
    return { sandbox, hidesData, hidesNetwork };
  } finally {
    if (sandbox.users !== null && userId !== null) releaseUser(sandbox.users, userId);
    listener.close();
    await rm(secret, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns null on success, else the error output of the launcher. */
function runProbe([command = '', ...flags]: readonly string[], folder: string): Promise<string | null> {
  const options = {
    cwd: folder,
    timeout: probeMsMax,
    killSignal: 'SIGKILL',
    env: { PATH: '/usr/bin:/bin' },
  } as const;
  return new Promise((resolve) => {
    execFile(command, flags, options, (error, _out, stderr) => {
      if (error === null) return resolve(null);
      resolve(stderr.trim().split('\n')[0]?.slice(0, 200) || `it does not start (${error.code})`);
    });
  });
}
