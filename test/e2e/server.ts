import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { eventMsMax } from '../waiting.ts';

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const logBytesMax = 20_000;
const wholeLogBytesMax = 20_000_000;

export const operatorKey = 'an-old-key-of-a-stranded-user';
export const adminKey = 'the-administrator-of-the-tests';

/** QUARRY_* variables of one server, without the prefix: `{ HTTP: 'node' }`. */
export type Variables = Readonly<Record<string, string>>;

/** Where a server belongs to: a test, or a part of the campaign. */
export type ServerHost = Pick<Test, 'teardown' | 'passing' | 'comment'>;

export interface StartOptions {
  /** By how much the server's clock is ahead of the machine's; absent: it is not, and cannot be moved. */
  readonly aheadMs?: () => number;
  readonly onSpawn?: (child: ChildProcess) => void;
}

/** The real server as a process of its own on a data directory of its own; tests see it only through HTTP. */
export class TestServer {
  readonly data: string;
  #variables: Variables;
  readonly #options: StartOptions;
  #child: ChildProcess | null = null;
  #ended: Promise<number | null> = Promise.resolve(null);
  #url = '';
  #out = '';
  #log = '';

  private constructor(data: string, variables: Variables, options: StartOptions) {
    this.data = data;
    this.#variables = variables;
    this.#options = options;
  }

  /** Starts a server that ends with the test; its log is shown when the test fails. */
  static async start(
    t: ServerHost,
    variables: Variables = {},
    options: StartOptions = {},
  ): Promise<TestServer> {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-e2e-'));
    const server = new TestServer(join(folder, 'data'), variables, options);
    t.teardown(async () => {
      await server.stop();
      if (!t.passing()) t.comment(`log of the server:\n${server.log}`);
      rmSync(folder, { recursive: true, force: true });
    });
    await server.#run();
    return server;
  }

  /** Address without a trailing slash; changes with every start. */
  get url(): string {
    return this.#url;
  }

  /** Process id of the running server. */
  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the server does not run');
    return pid;
  }

  /** The end of what it has logged, over all starts. */
  get log(): string {
    return this.#log.slice(-logBytesMax);
  }

  /** All of that. */
  get wholeLog(): string {
    return this.#log;
  }

  /** What went to its standard output since its last start. */
  get standardOutput(): string {
    return this.#out;
  }

  /** What it has printed for people since its last start, with the link that it wrote to a file instead. */
  get printed(): string {
    const link = join(this.#variables.DATA ?? this.data, 'sign-in-link.txt');
    return existsSync(link) ? `${this.#out}${readFileSync(link, 'utf8')}` : this.#out;
  }

  /** Ends it politely, or at once with SIGKILL; gives the exit status, null after a signal. Harmless twice. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    this.#child?.kill(signal);
    const code = await this.#ended;
    this.#child = null;
    return code;
  }

  /** Moves its clock to what `aheadMs` says now, where that was given. */
  async tellTime(): Promise<void> {
    const child = this.#child;
    const { aheadMs } = this.#options;
    if (child === null || aheadMs === undefined) return;
    const moved = new Promise((resolve) => child.once('message', resolve));
    child.send({ aheadMs: aheadMs() });
    await moved;
  }

  /** Starts it again on the same data, with further variables. */
  async restart(variables: Variables = {}): Promise<void> {
    await this.stop();
    this.#variables = { ...this.#variables, ...variables };
    await this.#run();
  }

  async #run(): Promise<void> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_'));
    const given = Object.entries(this.#variables).map(([name, value]) => [`QUARRY_${name}`, value]);
    const { aheadMs } = this.#options;
    const clock =
      aheadMs === undefined ? [] : ['--import', join(compiledRoot, 'test', 'stripe', 'moved-clock.js')];
    const command = [process.execPath, ...clock, join(compiledRoot, 'src', 'cli', 'main.js'), 'serve'];
    // `env` takes away, and becomes the server: the test runner puts its loaders into every process that a test
    // starts, and there they would keep the restricted parser processes from starting.
    const child = spawn('env', ['-u', 'NODE_OPTIONS', ...command], {
      env: {
        ...Object.fromEntries(inherited),
        QUARRY_PORT: '0',
        QUARRY_DATA: this.data,
        QUARRY_API_KEY: operatorKey,
        QUARRY_ADMIN_KEY: adminKey,
        QUARRY_LOG_LEVEL: 'info',
        QUARRY_DISK_RESERVE_BYTES: '0',
        ...Object.fromEntries(given),
        ...(aheadMs === undefined ? {} : { MOVED_CLOCK_MS: String(aheadMs()) }),
      },
      stdio: ['ignore', 'pipe', 'pipe', ...(aheadMs === undefined ? [] : ['ipc' as const])],
    });
    this.#out = '';
    child.stdout!.setEncoding('utf8').on('data', (part: string) => {
      this.#out += part;
    });
    child.stderr!.setEncoding('utf8').on('data', (part: string) => {
      this.#log = (this.#log + part).slice(-wholeLogBytesMax);
    });
    this.#options.onSpawn?.(child);
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
    await this.#becomesReady(child);
  }

  async #becomesReady(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + eventMsMax;
    while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
      const printed = /Quarry is ready at (\S+)/.exec(this.#out)?.[1];
      if (printed !== undefined) {
        const { BASE_URL, PORT } = this.#variables;
        this.#url = BASE_URL === undefined ? printed : `http://127.0.0.1:${PORT}`;
        const ready = await fetch(`${this.#url}/readyz`);
        if (ready.status === 200) return;
      }
      await sleep(20);
    }
    await this.stop('SIGKILL');
    throw new Error(`the server did not become ready:\n${this.#out}\n${this.log}`);
  }
}
