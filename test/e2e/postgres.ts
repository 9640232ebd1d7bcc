import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { freePort } from './free-port.ts';

/** Folder of the programs of the newest PostgreSQL on Debian; null if none is installed. */
function findPrograms(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions[0] === undefined ? null : join(root, versions[0], 'bin');
}

/** PostgreSQL refuses to run as root. */
function serviceUser(): { uid: number; gid: number } | null {
  if (userInfo().uid !== 0) return { uid: userInfo().uid, gid: userInfo().gid };
  const { status, stdout } = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' });
  const group = spawnSync('id', ['-g', 'postgres'], { encoding: 'utf8' });
  return status === 0 ? { uid: Number(stdout), gid: Number(group.stdout) } : null;
}

const programs = findPrograms();
const user = serviceUser();
/** Reason why no database can be started; false if one can. */
export const postgresSkipReason =
  programs === null || user === null
    ? 'PostgreSQL is not installed; on Debian: apt-get install --no-install-recommends postgresql'
    : false;

/** Starts a database server that stops at the end of the test; returns its URL. */
export async function startPostgres(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-'));
  chownSync(folder, user!.uid, user!.gid);
  const data = join(folder, 'data');
  const options = { ...user!, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
  const init = ['-D', data, '-U', 'tester', '--auth=trust', '--no-sync'];
  const created = spawnSync(join(programs!, 'initdb'), init, { ...options, encoding: 'utf8' });
  if (created.status !== 0) throw new Error(created.stderr);
  const port = await freePort();
  const settings = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-F'];
  const server: ChildProcess = spawn(join(programs!, 'postgres'), settings, { ...options, stdio: 'ignore' });
  const ended = new Promise((resolve) => server.once('close', resolve));
  t.teardown(async () => {
    server.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `postgres://tester@127.0.0.1:${port}/postgres`;
  await waitUntil('the database', () => canConnect(url), 100);
  return url;
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
