import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { DirectoryTarget } from '../../src/backup/directory-target.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { putBlobReference } from '../../src/storage/blob-references.ts';
import { type DataDirectory, openDataDirectory } from '../../src/storage/data-directory.ts';
import { type DataImportOptions, importData } from '../../src/storage/import-data.ts';
import { writeInstallationSecrets } from '../../src/storage/installation-secrets.ts';
import type { SharedStorage } from '../../src/storage/open-shared-store.ts';
import { sharedDataKeys } from '../../src/storage/shared-data.ts';
import { postgresSkipReason, startPostgres } from '../support/postgres.ts';
import t, { type Test } from '../support/tap.ts';
import { bytes, putOperation } from './store-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-import-data-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
const url = postgresSkipReason === false ? await startPostgres(t) : '';
const test = (title: string, check: (t: Test) => Promise<void>) =>
  t.test(title, { skip: postgresSkipReason }, check);

async function query(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** An empty database and an empty place for files. */
async function createTarget(): Promise<SharedStorage> {
  await query('DROP TABLE IF EXISTS q_kv; DROP TABLE IF EXISTS q_cell');
  const files = new DirectoryTarget(join(folder, randomUUID()), systemRandom);
  return { url, files, filesCacheBytes: 1_000_000 };
}

const openDirectory = (path: string, shared?: SharedStorage) =>
  openDataDirectory({
    path,
    reserveBytes: 0,
    logger: silentLogger,
    random: systemRandom,
    ...(shared === undefined ? {} : { shared }),
  });

/** A data directory with several megabytes of rows, and two files. */
async function createSource(): Promise<DataDirectory> {
  const source = await openDirectory(mkdtempSync(join(folder, 'source-')));
  for (let i = 0; i < 10; i += 1) {
    const value = randomBytes(350_000);
    await source.store.write([{ type: 'put', key: bytes(`large ${i}`), value }, putOperation(`k${i}`, '')]);
  }
  for (const text of ['granite', 'marble']) {
    const blob = await source.blobs.put(Buffer.from(text));
    await source.store.write([putBlobReference(blob.hash, randomUUID())]);
    blob.release();
  }
  return source;
}

function run(source: DataDirectory, target: SharedStorage, options: Partial<DataImportOptions> = {}) {
  return importData({
    source,
    target,
    random: systemRandom,
    logger: silentLogger,
    signal: new AbortController().signal,
    yieldToEventLoop: () => null,
    onProgress: () => {},
    ...options,
  });
}

/** Ends the import after some commits of rows. */
async function interrupt(t: Test, source: DataDirectory, target: SharedStorage, commits = 2): Promise<void> {
  const controller = new AbortController();
  let count = 0;
  const onProgress: DataImportOptions['onProgress'] = ({ phase }) => {
    if (phase !== 'rows') return;
    count += 1;
    if (count === commits) controller.abort(new Error('interrupted'));
  };
  await t.rejects(run(source, target, { signal: controller.signal, onProgress }), { message: 'interrupted' });
}

/** Entries without those about the place of the data. */
async function entriesOf({ store }: DataDirectory): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  for await (const { key, value } of store.range({}))
    entries.set(Buffer.from(key).toString('hex'), Buffer.from(value).toString('hex'));
  for (const key of sharedDataKeys) entries.delete(Buffer.from(key).toString('hex'));
  return entries;
}

/** Opens the imported data with an empty cache, and compares them. */
async function checkImported(t: Test, source: DataDirectory, target: SharedStorage): Promise<void> {
  const path = mkdtempSync(join(folder, 'node-'));
  writeInstallationSecrets(path, { secrets: source.secrets, retired: [] });
  const imported = await openDirectory(path, target);
  t.same(await entriesOf(imported), await entriesOf(source));
  t.equal(imported.lineage, source.lineage);
  t.equal(await imported.blobs.countOrphans(), 0);
  await imported.close();
}

test('an imported directory has the same rows and files', async (t) => {
  const [source, target] = [await createSource(), await createTarget()];
  const phases = new Set<string>();
  const result = await run(source, target, { onProgress: ({ phase }) => phases.add(phase) });
  t.match(result, { files: 2, rows: (await entriesOf(source)).size, isContinued: false });
  t.same([...phases], ['files', 'rows', 'check']);
  await checkImported(t, source, target);
  await t.rejects(run(source, target), { code: 'conflict', message: /has data already/ });
  await source.close();
});

test('an interrupted import is continued, and no server starts on it', async (t) => {
  const [source, target] = [await createSource(), await createTarget()];
  await interrupt(t, source, target);
  const path = mkdtempSync(join(folder, 'node-'));
  await t.rejects(openDirectory(path, target), { message: /an import that is not complete/ });
  let rows = 0;
  const onProgress: DataImportOptions['onProgress'] = ({ phase }) => {
    if (phase === 'rows') rows += 1;
  };
  t.match(await run(source, target, { onProgress }), { files: 2, isContinued: true });
  t.equal(rows, 2, 'only the missing rows are copied: four commits less two');
  await checkImported(t, source, target);
  await source.close();
});

test('rows that were deleted since an interrupted import are not in the copy', async (t) => {
  const [source, target] = [await createSource(), await createTarget()];
  await interrupt(t, source, target);
  await source.store.write([{ type: 'delete', key: bytes('k0') }, putOperation('k1', 'changed')]);
  t.match(await run(source, target), { isContinued: true });
  await checkImported(t, source, target);
  await source.close();
});

test('a database with other data is refused, and the server on it still writes', async (t) => {
  const [source, target] = [await createSource(), await createTarget()];
  const server = await openDirectory(mkdtempSync(join(folder, 'node-')), target);
  await t.rejects(run(source, target), { code: 'conflict', message: /has data already/ });
  await server.store.write([putOperation('a', '1')]);
  await server.close();
  const other = await createTarget();
  await interrupt(t, source, other);
  const second = await createSource();
  await t.rejects(run(second, other), { code: 'conflict', message: /incomplete import of another/ });
  await source.close();
  await second.close();
});

test('a copy that differs is not declared usable', async (t) => {
  const [source, target] = [await createSource(), await createTarget()];
  await interrupt(t, source, target);
  await query("UPDATE q_kv SET value = set_byte(value, 0, get_byte(value, 0) # 1) WHERE key = 'large 0'");
  await t.rejects(run(source, target), { code: 'conflict', message: /differs from the data directory/ });
  await t.rejects(openDirectory(mkdtempSync(join(folder, 'node-')), target), { message: /not complete/ });
  await source.close();
});

test('a damaged file is not imported', async (t) => {
  const [source, target] = [await createSource(), await createTarget()];
  const blob = await source.blobs.put(Buffer.from('basalt'));
  await source.store.write([putBlobReference(blob.hash, randomUUID())]);
  writeFileSync(source.blobs.path(blob.hash), 'damage');
  await t.rejects(run(source, target), { code: 'bad_request', message: /of a document is damaged/ });
  rmSync(source.blobs.path(blob.hash));
  await t.rejects(run(source, target), { code: 'bad_request', message: /cannot be read: ENOENT/ });
  writeFileSync(source.blobs.path(blob.hash), 'basalt');
  t.match(await run(source, target), { files: 3 });
  await checkImported(t, source, target);
  await source.close();
});
