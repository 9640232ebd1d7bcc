import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { PostgresCell } from '../../src/storage/postgres-cell.ts';
import { PostgresStore, type PostgresStoreOptions } from '../../src/storage/postgres-store.ts';
import { RocksStore } from '../../src/storage/rocks-store.ts';
import { type RocksDatabase, StoreLockedError } from '../../src/storage/rocksdb.ts';
import { readCounters, type Store, type WriteOperation } from '../../src/storage/store.ts';
import { type GroupWriter, ThreadWriter } from '../../src/storage/thread-writer.ts';
import { postgresSkipReason, startPostgres } from '../support/postgres.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import t, { type Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { appendContract } from './append-contract.ts';
import { bytes, deleteOperation, putOperation, storeContract, textAt } from './store-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-store-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
const url = postgresSkipReason === false ? await startPostgres(t) : '';
let names = 0;

function freshName(): string {
  names += 1;
  return `name-${names}`;
}

/** By default with a cell and a cache of its own. */
function open(options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const [cell, location] = [freshName(), join(folder, freshName())];
  return PostgresStore.open({ url, cell, location, logger: silentLogger, random: systemRandom, ...options });
}

const test = (title: string, check: (t: Test) => Promise<void>) =>
  t.test(title, { skip: postgresSkipReason }, check);
const increment: WriteOperation = { type: 'add', key: bytes('n'), amounts: [1] };
const countAt = (store: Store) => readCounters(store.get(bytes('n')), 1)[0];

async function entriesOf(store: Store): Promise<string[]> {
  const entries: string[] = [];
  for await (const { key, value } of store.range({}))
    entries.push(`${Buffer.from(key).toString()}=${Buffer.from(value).toString('latin1')}`);
  return entries;
}

async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

const implementation = { name: 'postgres', open: (options = {}) => open(options) };
if (postgresSkipReason === false) {
  storeContract(implementation);
  appendContract(implementation);
}

test('a start with an empty cache loads all rows', async (t) => {
  const cell = freshName();
  const first = await open({ cell });
  const large = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
  await first.write([increment, putOperation('a', '1'), putOperation('b', ''), putOperation('c', '1')]);
  await first.write([deleteOperation('c'), { type: 'put', key: bytes('large'), value: large }, increment]);
  await first.write(Array.from({ length: 100 }, (_, i) => putOperation(`k${i}`, String(i))));
  const expected = await entriesOf(first);
  await first.close();
  const second = await open({ cell });
  t.same(await entriesOf(second), expected);
  t.equal((await second.snapshot().then(closed)).sequence, 3);
  await second.write([increment]);
  t.equal(countAt(second), 3);
  await second.close();
});

async function closed<Item extends { close(): Promise<void> }>(item: Item): Promise<Item> {
  await item.close();
  return item;
}

test('a start with a stale cache loads only the changes', async (t) => {
  const cell = freshName();
  const location = join(folder, freshName());
  await open({ cell, location }).then(async (store) => {
    await store.write([
      putOperation('kept', '1'),
      putOperation('replaced', '1'),
      putOperation('deleted', '1'),
    ]);
    await store.close();
  });
  await open({ cell }).then(async (store) => {
    await store.write([deleteOperation('deleted'), putOperation('replaced', '2')]);
    await store.write([putOperation('new', '1')]);
    await store.close();
  });
  // A row that is not loaded again shows that the cache was used.
  await query("UPDATE q_kv SET value = 'changed' WHERE cell = $1 AND key = 'kept'", [cell]);
  const store = await open({ cell, location });
  t.same(await entriesOf(store), ['kept=1', 'new=1', 'replaced=2']);
  await store.close();
});

test('a cache of other data is replaced', async (t) => {
  const location = join(folder, freshName());
  await open({ location }).then(async (store) => {
    await store.write([putOperation('other', '1')]);
    await store.close();
  });
  const store = await open({ location });
  t.same(await entriesOf(store), []);
  await store.write([putOperation('a', '1')]);
  await store.close();
});

test('a store that is not a cache is not replaced', async (t) => {
  const location = join(folder, freshName());
  const rocks = () => RocksStore.open({ location, logger: silentLogger });
  await rocks().then(async (store) => {
    await store.write([putOperation('a', '1')]);
    await store.close();
  });
  await t.rejects(open({ location }), { code: 'unavailable', message: /Use an empty directory/ });
  const store = await rocks();
  t.equal(textAt(store, 'a'), '1');
  await store.close();
});

test('a process that lost its cell cannot write; reads continue', async (t) => {
  const cell = freshName();
  const first = await open({ cell });
  await first.write([putOperation('a', '1')]);
  const second = await open({ cell });
  await second.write([putOperation('a', '2'), putOperation('b', '2')]);
  const rejection = { code: 'unavailable', message: /Another node has taken over/ };
  await t.rejects(first.write([putOperation('a', '3'), deleteOperation('b')]), rejection);
  await t.rejects(first.write([putOperation('a', '4')]), rejection);
  t.equal(textAt(first, 'a'), '1');
  t.same(await entriesOf(second), ['a=2', 'b=2']);
  await first.close();
  await second.close();
  const third = await open({ cell });
  t.same(await entriesOf(third), ['a=2', 'b=2']);
  await third.close();
});

test('a process that lost its cell while it was disconnected cannot take it back', async (t) => {
  const proxy = await PostgresProxy.start(t, url);
  const cell = freshName();
  const first = await open({ cell, url: proxy.url });
  const second = await open({ cell });
  proxy.disconnect();
  await t.rejects(first.write([putOperation('a', '1')]), { message: /Another node has taken over/ });
  await second.write([putOperation('a', '2')]);
  await first.close();
  await second.close();
});

/** Waits until new writes are rejected; those before wait for the outcome of the write that is running. */
async function untilRefused(store: Store): Promise<void> {
  let message = '';
  await waitUntil('the rejection of new writes', () => {
    store.write([putOperation('probe', '1')]).catch((error: Error) => {
      message = error.message;
    });
    return message.includes('PostgreSQL');
  });
}

async function untilWritten(store: Store, operation: WriteOperation): Promise<void> {
  await waitUntil('an accepted write', () =>
    store.write([operation]).then(
      () => true,
      () => false,
    ),
  );
}

for (const fault of ['lose request', 'lose reply'] as const) {
  test(`connection lost at COMMIT (${fault}): the write is committed once`, async (t) => {
    const proxy = await PostgresProxy.start(t, url);
    const cell = freshName();
    const store = await open({ cell, url: proxy.url });
    await store.write([increment]);
    proxy.failNext(fault);
    proxy.isDown = true;
    const written = store.write([increment, putOperation('a', '1')]);
    await untilRefused(store);
    t.equal(countAt(store), 1, 'reads continue');
    proxy.isDown = false;
    await written;
    t.equal(textAt(store, 'a'), '1');
    await store.write([increment]);
    t.equal(countAt(store), 3, 'each write counts once');
    await store.close();
    const next = await open({ cell });
    t.equal(countAt(next), 3);
    await next.close();
  });
}

test('a store that is closed while PostgreSQL is unreachable has the committed writes at the next start', async (t) => {
  const proxy = await PostgresProxy.start(t, url);
  const [cell, location] = [freshName(), join(folder, freshName())];
  const store = await open({ cell, location, url: proxy.url });
  await store.write([increment]);
  proxy.failNext('lose reply');
  proxy.isDown = true;
  const [outcome] = await Promise.allSettled([store.write([increment]), store.close()]);
  t.match(outcome, { status: 'rejected', reason: { code: 'unavailable' } });
  const next = await open({ cell, location });
  t.equal(countAt(next), 2);
  await next.close();
});

test('while PostgreSQL is unreachable, writes are rejected and reads continue', async (t) => {
  const proxy = await PostgresProxy.start(t, url);
  const store = await open({ url: proxy.url });
  await store.write([increment]);
  proxy.isDown = true;
  proxy.disconnect();
  await untilRefused(store);
  t.equal(countAt(store), 1);
  await t.rejects(open({ url: proxy.url }), { code: 'unavailable', message: /PostgreSQL cannot be used/ });
  proxy.isDown = false;
  await untilWritten(store, increment);
  t.equal(countAt(store), 2);
  await store.close();
});

test('a write that PostgreSQL rejects changes nothing, and later writes succeed', async (t) => {
  const cell = freshName();
  const store = await open({ cell });
  await query(`ALTER TABLE q_kv ADD CONSTRAINT full_disk CHECK (cell <> '${cell}') NOT VALID`);
  await t.rejects(store.write([increment]), {
    code: 'unavailable',
    message: /PostgreSQL rejected the write/,
  });
  await query('ALTER TABLE q_kv DROP CONSTRAINT full_disk');
  t.equal(store.get(bytes('n')), undefined);
  await store.write([increment]);
  t.equal(countAt(store), 1);
  await store.close();
});

test('after a restore of PostgreSQL, writes are rejected until the restart, which replaces the cache', async (t) => {
  const proxy = await PostgresProxy.start(t, url);
  const [cell, location] = [freshName(), join(folder, freshName())];
  const store = await open({ cell, location, url: proxy.url });
  await store.write([putOperation('kept', '1')]);
  await store.write([putOperation('lost', '1')]);
  await query("DELETE FROM q_kv WHERE cell = $1 AND key = 'lost'", [cell]);
  await query('UPDATE q_cell SET head = 1 WHERE cell = $1', [cell]);
  proxy.disconnect();
  let message = '';
  await waitUntil('the rejection', () =>
    store.write([putOperation('new', '1')]).then(
      () => false,
      (error: Error) => {
        message = error.message;
        return message.includes('restored');
      },
    ),
  );
  t.match(message, /PostgreSQL was restored to an earlier state/);
  t.equal(store.postgresState.state, 'diverged');
  await t.rejects(store.write([putOperation('new', '1')]), { code: 'unavailable', message: /restored/ });
  await store.close();
  let replaced = 0;
  const onReplace = async () => {
    replaced += 1;
  };
  const next = await open({ cell, location, onReplace });
  t.equal(replaced, 1);
  t.same(await entriesOf(next), ['kept=1']);
  await next.close();
});

test('without writes, the checks show a takeover and an unreachable PostgreSQL', async (t) => {
  const proxy = await PostgresProxy.start(t, url);
  const cell = freshName();
  const store = await open({ cell, url: proxy.url, checkMs: 10 });
  const stateOf = () => store.postgresState.state;
  t.match(store.postgresState, { state: 'open', epoch: 1, head: 0, position: 0 });
  proxy.isDown = true;
  proxy.disconnect();
  await waitUntil('the loss', () => stateOf() === 'unreachable');
  proxy.isDown = false;
  await waitUntil('the connection', () => stateOf() === 'open');
  await store.write([increment]);
  t.match(store.postgresState, { head: 1, position: 1 });
  const second = await open({ cell });
  await waitUntil('the takeover', () => stateOf() === 'fenced');
  await second.close();
  await store.close();
});

test('rows of deleted keys are removed; a cache that may still have the keys is replaced', async (t) => {
  const cell = freshName();
  const [early, late] = [join(folder, freshName()), join(folder, freshName())];
  const write = async (location: string, operations: readonly WriteOperation[]) => {
    const store = await open({ cell, location });
    for (const operation of operations) await store.write([operation]);
    await store.close();
  };
  await write(early, [putOperation('a', '1'), putOperation('kept', '1')]);
  await write(late, [
    deleteOperation('a'),
    putOperation('b', '1'),
    deleteOperation('b'),
    increment,
    increment,
  ]);
  const store = await open({ cell, checkMs: 10, keptCommits: 3 });
  const deletions = () => query('SELECT FROM q_kv WHERE cell = $1 AND value IS NULL', [cell]);
  // The deletion of `b` is among the last three commits.
  await waitUntil('the removal', async () => (await deletions()).length === 1);
  const expected = await entriesOf(store);
  await store.close();
  const replaced: string[] = [];
  for (const location of [early, late]) {
    const onReplace = async () => void replaced.push(location);
    const next = await open({ cell, location, onReplace });
    t.same(await entriesOf(next), expected);
    await next.close();
  }
  t.same(replaced, [early]);
});

test('a second process in the same folder does not take over', async (t) => {
  const [cell, location] = [freshName(), join(folder, freshName())];
  const store = await open({ cell, location });
  await t.rejects(open({ cell, location }), StoreLockedError);
  await store.write([increment]);
  t.equal(countAt(store), 1);
  await store.close();
});

test('values are read without a takeover', async (t) => {
  const cell = freshName();
  const key = bytes('a');
  t.same(await PostgresCell.peek({ url, cell }, [key]), [undefined]);
  const store = await open({ cell });
  await store.write([putOperation('a', '1'), putOperation('b', '1')]);
  await store.write([deleteOperation('b')]);
  const found = await PostgresCell.peek({ url, cell }, [bytes('b'), key, bytes('c')]);
  t.same(
    found.map((value) => value && Buffer.from(value).toString()),
    [undefined, '1', undefined],
  );
  await store.write([increment]);
  await store.close();
});

/** A writer whose disk is full once. */
class FullDiskWriter implements GroupWriter {
  readonly #inner: GroupWriter;
  readonly #disk: { isFull: boolean };

  constructor(database: RocksDatabase, disk: { isFull: boolean }) {
    this.#inner = new ThreadWriter(database.handle, { sync: false });
    this.#disk = disk;
  }

  async write(group: ArrayBuffer): Promise<void> {
    if (!this.#disk.isFull) return this.#inner.write(group);
    this.#disk.isFull = false;
    throw new Error('IO error: No space left on device');
  }

  stop(): Promise<void> {
    return this.#inner.stop();
  }
}

test('a committed write that the cache cannot store is loaded before it is acknowledged', async (t) => {
  const disk = { isFull: false };
  const store = await open({ startWriter: (database) => new FullDiskWriter(database, disk) });
  await store.write([increment]);
  disk.isFull = true;
  await store.write([increment, putOperation('a', '1')]);
  t.equal(disk.isFull, false, 'the disk was full');
  t.equal(textAt(store, 'a'), '1');
  await store.write([increment]);
  t.equal(countAt(store), 3);
  await store.close();
});
