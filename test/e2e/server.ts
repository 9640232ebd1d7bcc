import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { deleteFolder } from '../support/delete-folder.ts';
import { serverNode } from '../support/server-node.ts';
import type { Test } from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';

const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const logBytesMax = 20_000;
const fullLogBytesMax = 20_000_000;

export const operatorKey = 'an-old-key-of-a-stranded-user';
export const adminKey = 'the-administrator-of-the-tests';

/** QUARRY_* variables of one server, without the prefix: `{ HTTP: 'node' }`. */
export type ServerVariables = Readonly<Record<string, string>>;

/** Owner of a server: a test, or a part of the campaign. */
export type ServerHost = Pick<Test, 'teardown' | 'passing' | 'comment'>;

export interface TestServerOptions {
  /** Milliseconds by which the server's clock is ahead of the machine's; if absent, the clock cannot be moved. */
  readonly clockOffsetMs?: () => number;
  readonly onSpawn?: (child: ChildProcess) => void;
}

/** The real server as a separate process on its own data directory; tests access it only through HTTP. */
export class TestServer {
  readonly data: string;
  #variables: ServerVariables;
  readonly #options: TestServerOptions;
  #child: ChildProcess | null = null;
  #ended: Promise<number | null> = Promise.resolve(null);
  #url = '';
  #out = '';
  #log = '';

  private constructor(data: string, variables: ServerVariables, options: TestServerOptions) {
    this.data = data;
    this.#variables = variables;
    this.#options = options;
  }

  /** Starts a server that stops at the end of the test; prints its log if the test fails. */
  static async start(
    t: ServerHost,
    variables: ServerVariables = {},
    options: TestServerOptions = {},
  ): Promise<TestServer> {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-e2e-'));
    const server = new TestServer(join(folder, 'data'), variables, options);
    t.teardown(async () => {
      await server.stop();
      if (!t.passing()) t.comment(`log of the server:\n${server.log}`);
      await deleteFolder(folder);
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

  /** End of the log, over all starts. */
  get log(): string {
    return this.#log.slice(-logBytesMax);
  }

  /** Whole log, over all starts. */
  get fullLog(): string {
    return this.#log;
  }

  /** Standard output since the last start. */
  get standardOutput(): string {
    return this.#out;
  }

  /** Standard output since the last start, with the sign-in link that the server wrote to a file. */
  get printedText(): string {
    const link = join(this.#variables.DATA ?? this.data, 'sign-in-link.txt');
    return existsSync(link) ? `${this.#out}${readFileSync(link, 'utf8')}` : this.#out;
  }

  /** Stops the server by a signal; SIGKILL kills it. Returns the exit status, null after a signal. Idempotent. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child?.kill(signal);
    const code = await this.#ended;
    this.#child = null;
    return code;
  }

  /** Sets the server's clock to the current `clockOffsetMs`, if that was given. */
  async syncClock(): Promise<void> {
    const child = this.#child;
    const { clockOffsetMs: aheadMs } = this.#options;
    if (child === null || aheadMs === undefined) return;
    const acknowledged = new Promise((resolve) => child.once('message', resolve));
    child.send({ aheadMs: aheadMs() });
    await acknowledged;
  }

  /** Restarts the server on the same data with additional variables. */
  async restart(variables: ServerVariables = {}): Promise<void> {
    await this.stop();
    this.#variables = { ...this.#variables, ...variables };
    await this.#run();
  }

  async #run(): Promise<void> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_'));
    const ownVariables = Object.entries(this.#variables).map(([name, value]) => [`QUARRY_${name}`, value]);
    const { clockOffsetMs: aheadMs } = this.#options;
    const clock =
      aheadMs === undefined
        ? []
        : ['--import', join(compiledRoot, 'test', 'support', 'stripe-emulator', 'shifted-clock.js')];
    const command = [...serverNode, ...clock, join(compiledRoot, 'src', 'cli', 'main.js'), 'serve'];
    // `env` replaces itself with the server without NODE_OPTIONS: the test runner injects its loaders into every
    // child process of a test, and there they would keep the restricted parser processes from starting.
    const child = spawn('env', ['-u', 'NODE_OPTIONS', ...command], {
      env: {
        ...Object.fromEntries(inherited),
        QUARRY_PORT: '0',
        QUARRY_DATA: this.data,
        QUARRY_API_KEY: operatorKey,
        QUARRY_ADMIN_KEY: adminKey,
        QUARRY_LOG_LEVEL: 'info',
        QUARRY_DISK_RESERVE_BYTES: '0',
        ...Object.fromEntries(ownVariables),
        ...(aheadMs === undefined ? {} : { MOVED_CLOCK_MS: String(aheadMs()) }),
      },
      stdio: ['ignore', 'pipe', 'pipe', ...(aheadMs === undefined ? [] : ['ipc' as const])],
    });
    this.#out = '';
    child.stdout!.setEncoding('utf8').on('data', (part: string) => {
      this.#out += part;
    });
    child.stderr!.setEncoding('utf8').on('data', (part: string) => {
      this.#log = (this.#log + part).slice(-fullLogBytesMax);
    });
    this.#options.onSpawn?.(child);
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
    await this.#waitUntilReady(child);
  }

  async #waitUntilReady(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + testEventMsMax;
    while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
      const printed = /Quarry is ready at (\S+)/.exec(this.#out)?.[1];
      if (printed !== undefined) {
        const { BASE_URL, PORT, METRICS_LISTEN } = this.#variables;
        this.#url = BASE_URL === undefined ? printed : `http://127.0.0.1:${PORT}`;
        const probeUrl = METRICS_LISTEN === undefined ? this.#url : `http://${METRICS_LISTEN}`;
        const ready = await fetch(`${probeUrl}/readyz`);
        if (ready.status === 200) return;
      }
      await sleep(20);
    }
    await this.stop('SIGKILL');
    throw new Error(`the server did not become ready:\n${this.#out}\n${this.log}`);
  }
}
