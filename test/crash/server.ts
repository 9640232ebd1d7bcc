import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testEventMsMax } from '../timeouts.ts';

/** No reply: the server was killed while the request was in flight. */
export class ServerGoneError extends Error {
  override readonly name = 'ServerGoneError';
}

interface CrashRequestOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

export interface CrashReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many operations, read by name
  readonly body: any;
}

const entry = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
export const apiKey = 'a-key-for-the-crash-test';

/** Environment of this process without the QUARRY_ variables of the tests, which a server would reject. */
function inheritedEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('QUARRY_')));
}

export interface ServerProcessOptions {
  /** Additional environment variables, with their prefix. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly onSpawn?: (child: ChildProcess) => void;
}

/** Real server in a separate process that tests can kill. */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #log: string[];

  private constructor(parts: {
    url: string;
    child: ChildProcess;
    ended: Promise<number | null>;
    log: string[];
  }) {
    this.url = parts.url;
    this.#child = parts.child;
    this.#ended = parts.ended;
    this.#log = parts.log;
  }

  /** Resolves when the server has loaded all data. */
  static async start(data: string, options: ServerProcessOptions = {}): Promise<ServerProcess> {
    const threads = ['parse', 'chunk', 'embed', 'rerank'].flatMap((pool) => [`--${pool}-threads`, '1']);
    const own = ['--search-threads', '2', '--snapshot-seconds', '5', '--disk-reserve-bytes', '0'];
    const flags = ['--port', '0', '--data', data, '--log-level', 'info', ...own, ...threads];
    // `env` replaces itself with the server without NODE_OPTIONS: the test runner injects its loaders into every
    // child process of a test, and there they would keep the restricted parser processes from starting.
    const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, entry, 'serve', ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: join(data, '..'),
      env: { ...inheritedEnvironment(), QUARRY_API_KEY: apiKey, ...options.variables },
    });
    options.onSpawn?.(child);
    const log: string[] = [];
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    child.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()));
    const url = await new Promise<string>((resolve, reject) => {
      let printed = '';
      const refuse = () => reject(new Error(`the server did not start: ${printed}${log.join('')}`));
      const timer = setTimeout(refuse, testEventMsMax);
      child.once('close', refuse);
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        const found = /ready at (http:\/\/\S+)/.exec(printed)?.[1];
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      });
    });
    return new ServerProcess({ url, child, ended, log });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Log of the server, one JSON line per event. */
  get log(): string {
    return this.#log.join('');
  }

  /** `kill -9`: the server cannot clean up. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Sends SIGTERM; resolves to the exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#ended;
  }

  /** Calls an operation of the API. Throws `ServerGoneError` when the server is gone or stopping. */
  async call(operation: string, body: object): Promise<CrashReply> {
    const reply = await this.request(`/v1/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (reply.status === 503) throw new ServerGoneError('the server is stopping');
    return { status: reply.status, body: JSON.parse(Buffer.from(reply.body).toString()) };
  }

  /** Node 20 can leave a `fetch` unsettled after its server is killed: no reply arrives once the process has ended. */
  async #rejectWhenGone(): Promise<never> {
    await this.#ended;
    throw new Error('the process has ended');
  }

  async #fetch(address: URL, options: CrashRequestOptions): Promise<{ status: number; body: Uint8Array }> {
    const headers = { authorization: `Bearer ${apiKey}`, ...options.headers };
    const reply = await fetch(address, { ...options, headers });
    return { status: reply.status, body: new Uint8Array(await reply.arrayBuffer()) };
  }

  async request(path: string, options: CrashRequestOptions): Promise<{ status: number; body: Uint8Array }> {
    const address = new URL(path, this.url);
    try {
      return await Promise.race([this.#fetch(address, options), this.#rejectWhenGone()]);
    } catch (cause) {
      throw new ServerGoneError(`no reply from ${address.pathname}`, { cause });
    }
  }
}
