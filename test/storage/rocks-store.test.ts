import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.ts';
import { RocksStore, type RocksStoreOptions } from '../../src/storage/rocks-store.ts';
import type { RocksDatabase } from '../../src/storage/rocksdb.ts';
import { attachWriter, StoreLockedError } from '../../src/storage/rocksdb.ts';
import { readCounters } from '../../src/storage/store.ts';
import { type GroupWriter, ThreadWriter } from '../../src/storage/thread-writer.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { appendContract } from './append-contract.ts';
import { bytes, deleteOperation, putOperation, storeContract, textAt } from './store-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-store-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
let opened = 0;

function freshLocation(): string {
  opened += 1;
  return join(folder, `store-${opened}`);
}

function open(options: Partial<RocksStoreOptions> = {}): Promise<RocksStore> {
  return RocksStore.open({ location: freshLocation(), logger: silentLogger, ...options });
}

const implementation = { name: 'rocks', open: (options = {}) => open(options) };
storeContract(implementation);
appendContract(implementation);

t.test('acknowledged writes survive closing and reopening', async (t) => {
  const location = freshLocation();
  const first = await open({ location });
  await first.write([putOperation('a', '1'), { type: 'add', key: bytes('n'), amounts: [3] }]);
  await first.close();
  const second = await open({ location });
  await second.write([{ type: 'add', key: bytes('n'), amounts: [4] }]);
  t.equal(textAt(second, 'a'), '1');
  t.same(readCounters(second.get(bytes('n')), 1), [7]);
  await second.close();
});

t.test('tables with and without compression are read and written by both settings', async (t) => {
  const location = freshLocation();
  const keys = Array.from({ length: 2_000 }, (_, i) => `document ${i}`);
  const contentOf = (key: string) => `${key}: ${'salted herring is packed in barrels; '.repeat(8)}`;
  const rawBytes = keys.reduce((sum, key) => sum + contentOf(key).length, 0);
  const tableBytes = () =>
    readdirSync(location)
      .filter((name) => name.endsWith('.sst'))
      .reduce((sum, name) => sum + statSync(join(location, name)).size, 0);
  const first = await open({ location, compression: 'zstd' });
  await first.write(keys.map((key) => putOperation(key, contentOf(key))));
  await first.close();
  for (const compression of ['zstd', 'none', 'zstd'] as const) {
    // Opening a store turns its log into tables.
    const store = await open({ location, compression });
    t.ok(tableBytes() > 0 && tableBytes() < rawBytes / 4, `${tableBytes()} of ${rawBytes} bytes`);
    t.ok(keys.every((key) => textAt(store, key) === contentOf(key)));
    await store.write([putOperation(`added with ${compression}`, contentOf('later'))]);
    await store.close();
  }
  const store = await open({ location });
  t.same(
    ['zstd', 'none'].map((name) => textAt(store, `added with ${name}`)),
    Array(2).fill(contentOf('later')),
  );
  await store.close();
});

t.test('a large write is stored completely', async (t) => {
  const store = await open();
  t.teardown(() => store.close());
  const value = Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 251);
  await store.write([
    putOperation('before', 'a'),
    { type: 'put', key: bytes('large'), value },
    putOperation('after', 'b'),
  ]);
  t.ok(Buffer.from(value).equals(store.get(bytes('large'))!));
  t.same([textAt(store, 'before'), textAt(store, 'after')], ['a', 'b']);
});

t.test('an open database folder cannot be opened again', async (t) => {
  const location = freshLocation();
  const store = await open({ location });
  await t.rejects(open({ location }), StoreLockedError);
  await store.close();
  await (await open({ location })).close();
});

/** Simulates a failing disk in front of the real writer. */
class FailingRocksWriter implements GroupWriter {
  readonly #inner: GroupWriter;
  readonly #disk: Disk;
  readonly #database: RocksDatabase;
  #lost: ArrayBuffer | null = null;

  constructor(database: RocksDatabase, disk: Disk) {
    this.#inner = new ThreadWriter(database.handle);
    this.#database = database;
    this.#disk = disk;
  }

  async write(group: ArrayBuffer): Promise<void> {
    this.#disk.attempts += 1;
    if (this.#disk.state === 'works') return this.#inner.write(group);
    if (this.#disk.state === 'dies after writing') await this.#inner.write(group);
    else this.#lost = group;
    throw new Error('IO error: No space left on device');
  }

  /** Called before the store reopens: writes the group that RocksDB would replay from its log. */
  async stop(): Promise<void> {
    if (this.#disk.state === 'fails but keeps the log' && this.#lost !== null) {
      (await attachWriter(this.#database.handle)).writeSynced(this.#lost);
      this.#lost = null;
    }
    if (this.#disk.state !== 'fails') this.#disk.state = 'works';
    await this.#inner.stop();
  }
}

interface Disk {
  state: 'works' | 'fails' | 'fails but keeps the log' | 'dies after writing';
  attempts: number;
}

async function untilWritable(store: RocksStore): Promise<void> {
  const isWritten = () =>
    store.write([putOperation('probe', 'x')]).then(
      () => true,
      () => false,
    );
  await waitUntil('the recovery of the store', isWritten, 50);
}

for (const state of ['fails', 'fails but keeps the log'] as const) {
  t.test(`when a disk ${state}, only writes fail, reads continue, and the store recovers`, async (t) => {
    const disk: Disk = { state: 'works', attempts: 0 };
    const store = await open({ startWriter: (database) => new FailingRocksWriter(database, disk) });
    await store.write([
      putOperation('kept', '1'),
      putOperation('overwritten', 'old'),
      putOperation('deleted', 'old'),
    ]);
    disk.state = state;
    const group = [
      store.write([putOperation('new', '2'), putOperation('overwritten', 'new'), deleteOperation('deleted')]),
      store.write([putOperation('new', '3')]),
    ];
    const results = await Promise.allSettled(group);
    for (const result of results) {
      t.equal(result.status, 'rejected');
      t.match((result as PromiseRejectedResult).reason, { code: 'reserve_reached', status: 429 });
    }
    await t.rejects(store.write([putOperation('later', '4')]), { code: 'reserve_reached' });
    t.equal(disk.attempts, 2, 'a failed store retries the disk only during recovery');
    t.equal(textAt(store, 'kept'), '1');
    t.equal(textAt(store, 'new'), undefined);
    setTimeout(() => {
      if (disk.state === 'fails') disk.state = 'works';
    }, 300);
    await untilWritable(store);
    t.same(
      ['kept', 'new', 'later', 'overwritten', 'deleted'].map((key) => textAt(store, key)),
      ['1', undefined, undefined, 'old', 'old'],
      'rejected writes have no effect',
    );
    await store.close();
  });
}

t.test('a write stays acknowledged if the writer thread dies after it was durable', async (t) => {
  const disk: Disk = { state: 'works', attempts: 0 };
  const store = await open({ startWriter: (database) => new FailingRocksWriter(database, disk) });
  disk.state = 'dies after writing';
  await store.write([putOperation('a', '1')]);
  t.equal(textAt(store, 'a'), '1');
  disk.state = 'works';
  await store.close();
});

t.test('a store whose disk fails can be closed', async (t) => {
  const disk: Disk = { state: 'works', attempts: 0 };
  const store = await open({ startWriter: (database) => new FailingRocksWriter(database, disk) });
  disk.state = 'fails';
  await t.rejects(store.write([putOperation('a', '1')]), { code: 'reserve_reached' });
  await store.close();
  t.throws(() => store.get(bytes('a')), { code: 'unavailable' });
});
