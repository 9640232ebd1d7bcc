import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestOrigin } from './source-fixture.ts';

/** Reason to skip tests of Git repositories, or false. */
export const gitSkipReason: string | false =
  spawnSync('git', ['http-backend'], { env: { PATH: '/usr/bin:/bin' } }).error !== undefined &&
  'there is no Git on this machine; on Debian: apt-get install git';

/** A repository that `git http-backend` serves over HTTP. Changes are committed before the next fetch. */
export class GitOrigin implements TestOrigin {
  /** Value of the header `authorization` that is required; null: none. */
  authorization: string | null = null;
  /** Address to which all requests are redirected; null: none. */
  redirect: string | null = null;
  readonly #folder = mkdtempSync(join(tmpdir(), 'quarry-git-'));
  readonly #server: Server;
  #isCommitted = true;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    mkdirSync(this.#work);
    this.#git('init', '--quiet', '--initial-branch=main', '.');
    this.#git('commit', '--quiet', '--allow-empty', '--message=start');
  }

  static async start(): Promise<GitOrigin> {
    const origin = new GitOrigin();
    await new Promise<void>((resolve) => origin.#server.listen(0, '127.0.0.1', resolve));
    return origin;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}/handbook/.git`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async write(key: string, content: string): Promise<void> {
    const path = join(this.#work, key);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    this.#isCommitted = false;
  }

  async rename(from: string, to: string): Promise<void> {
    mkdirSync(dirname(join(this.#work, to)), { recursive: true });
    renameSync(join(this.#work, from), join(this.#work, to));
    this.#isCommitted = false;
  }

  async delete(key: string): Promise<void> {
    rmSync(join(this.#work, key));
    this.#isCommitted = false;
  }

  /** Deletes all files. */
  clear(): void {
    for (const name of readdirSync(this.#work).filter((name) => name !== '.git'))
      rmSync(join(this.#work, name), { recursive: true });
    this.#isCommitted = false;
  }

  /** Commits all files of the working folder. */
  #commit(): void {
    if (this.#isCommitted) return;
    this.#isCommitted = true;
    this.#git('add', '--all');
    this.#git('commit', '--quiet', '--allow-empty', '--message=change');
  }

  get #work(): string {
    return join(this.#folder, 'handbook');
  }

  #git(...words: string[]): void {
    const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    const env = { PATH: '/usr/bin:/bin', HOME: this.#folder, GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', [...identity, ...words], { cwd: this.#work, env });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#commit();
    if (this.redirect !== null) {
      response.writeHead(302, { location: `${this.redirect}${request.url}` }).end();
      return;
    }
    if (this.authorization !== null && request.headers.authorization !== this.authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? '/', this.url);
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: '/usr/bin:/bin',
        GIT_PROJECT_ROOT: this.#folder,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(backend.stdin);
    const pieces: Buffer[] = [];
    backend.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    backend.once('close', () => reply(response, Buffer.concat(pieces)));
  }
}

/** Sends the reply of a CGI program. */
function reply(response: ServerResponse, output: Buffer): void {
  const end = output.indexOf('\r\n\r\n');
  const headers = output
    .subarray(0, end)
    .toString('latin1')
    .split('\r\n')
    .map((line) => line.split(': ') as [string, string]);
  const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
  response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
  response.end(output.subarray(end + 4));
}
