import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { DirectoryTarget } from '../../src/backup/directory-target.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { type DataDirectoryOptions, openDataDirectory } from '../../src/storage/data-directory.ts';
import { readInstallationSecrets, writeInstallationSecrets } from '../../src/storage/installation-secrets.ts';
import type { SharedStorage } from '../../src/storage/open-shared-store.ts';
import { postgresSkipReason, startPostgres } from '../support/postgres.ts';
import t, { type Test } from '../support/tap.ts';
import { putOperation, textAt } from './store-contract.ts';

/** Data directories that are caches of PostgreSQL. */

const folder = mkdtempSync(join(tmpdir(), 'quarry-shared-directory-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
const url = postgresSkipReason === false ? await startPostgres(t) : '';
const test = (title: string, check: (t: Test) => Promise<void>) =>
  t.test(title, { skip: postgresSkipReason }, check);

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows ?? [];
}

const epoch = async () => Number((await query('SELECT epoch FROM q_cell'))[0]!.epoch);

/** An empty database and an empty place for files. */
async function createStorage(): Promise<SharedStorage> {
  await query('DROP TABLE IF EXISTS q_kv');
  await query('DROP TABLE IF EXISTS q_cell');
  const files = new DirectoryTarget(join(folder, randomUUID()), systemRandom);
  return { url, files, filesCacheBytes: 1_000_000 };
}

const newPath = () => join(folder, randomUUID());
const open = (path: string, shared: SharedStorage, options: Partial<DataDirectoryOptions> = {}) =>
  openDataDirectory({
    path,
    shared,
    reserveBytes: 0,
    logger: silentLogger,
    random: systemRandom,
    ...options,
  });

test('data of a newer format are refused without a takeover; those of an older one are migrated', async (t) => {
  const shared = await createStorage();
  const path = newPath();
  await open(path, shared, { format: { current: 2, migrations: [] } }).then((data) => data.close());
  const secrets = readFileSync(join(path, 'secrets.json'));
  const createNode = () => {
    const node = newPath();
    mkdirSync(node);
    writeFileSync(join(node, 'secrets.json'), secrets);
    return node;
  };
  const before = await epoch();
  const older = open(createNode(), shared, { format: { current: 1, migrations: [] } });
  await t.rejects(older, { code: 'unavailable', message: /has format 2, written by a newer Quarry version/ });
  t.equal(await epoch(), before);
  const migrate: NonNullable<DataDirectoryOptions['format']>['migrations'][number]['migrate'] = ({ store }) =>
    store.write([putOperation('migrated', 'yes')]);
  const migrations = [{ from: 2, description: '', freeShare: 0, migrate }];
  // The new directory has the current format, the data have not.
  const newer = await open(createNode(), shared, { format: { current: 3, migrations } });
  t.equal(textAt(newer.store, 'migrated'), 'yes');
  await newer.close();
  await open(createNode(), shared, { format: { current: 3, migrations: [] } }).then((data) => data.close());
});

test('after a rotation of the secret, the data accept only the new one', async (t) => {
  const shared = await createStorage();
  const path = newPath();
  await open(path, shared).then((data) => data.close());
  const first = readInstallationSecrets(path);
  const next = systemRandom.bytes(32);
  writeInstallationSecrets(path, { secrets: [next], retired: first.secrets });
  const rotated = await open(path, shared);
  t.same(rotated.secrets.map(toHex), [toHex(next)]);
  await rotated.close();
  await open(path, shared).then((data) => data.close());
  const other = newPath();
  mkdirSync(other);
  writeInstallationSecrets(other, first);
  await t.rejects(open(other, shared), { message: /encrypted with another secret/ });
});

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('after a restore of PostgreSQL, caches and snapshots of indexes are replaced', async (t) => {
  const shared = await createStorage();
  const path = newPath();
  const data = await open(path, shared);
  await data.store.write([putOperation('lost', '1')]);
  writeFileSync(join(data.indexPath, 'snapshot'), '');
  await data.close();
  await open(path, shared).then((same) => same.close());
  t.ok(existsSync(join(data.indexPath, 'snapshot')), 'kept by a start without a change');
  // What the page about clusters tells to do after a restore.
  await query("DELETE FROM q_kv WHERE key = 'lost'");
  await query('UPDATE q_cell SET incarnation = gen_random_uuid()');
  const restored = await open(path, shared);
  t.equal(textAt(restored.store, 'lost'), undefined);
  t.notOk(existsSync(join(data.indexPath, 'snapshot')));
  await restored.close();
});
