import { AppError } from '../../src/core/app-error.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { DocumentTarget } from '../../src/sources/document-target.ts';
import type { Source } from '../../src/sources/source.ts';
import { createCounts, type PlannedChange, Synchronizer } from '../../src/sources/synchronizer.ts';
import type { Collection } from '../../src/storage/collections.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { type SourceRecord, Sources } from '../../src/storage/sources.ts';
import t from '../support/tap.ts';

const uuid = '00000000-0000-4000-8000-000000000001';
const record: SourceRecord = {
  sourceId: uuid,
  organizationId: uuid,
  name: 'files',
  collectionId: uuid,
  kind: 'directory',
  settings: {},
  credentials: null,
  prefix: '',
  schedule: 'off',
  isWatched: false,
  metadata: {},
  revision: 1,
  isPaused: false,
  createdAt: 0,
};

/** An origin with one item. */
const source: Source = {
  listChanges: async function* () {
    yield { type: 'item', item: { key: 'a.txt', version: '1', metadata: {} } };
    return { cursor: null, isComplete: true };
  },
  read: async () => null,
  exists: async () => true,
  close: async () => {},
};

/** Returns the error of the item, and the lines of the log, when the check of the document throws. */
async function failWith(error: unknown, mayLogContent = true) {
  const store = new MemoryStore();
  const lines: unknown[] = [];
  const target: Partial<DocumentTarget> = {
    find: () => undefined,
    check: () => {
      throw error;
    },
  };
  const synchronizer = new Synchronizer({
    store,
    sources: new Sources(store),
    collections: { findById: () => ({}) as Collection },
    target: target as DocumentTarget,
    clock: systemClock,
    logger: { error: (fields) => void lines.push(fields) },
    mayLogContent: () => mayLogContent,
  });
  const changes: PlannedChange[] = [];
  const plan = (change: PlannedChange) => void changes.push(change);
  const signal = AbortSignal.timeout(60_000);
  const counts = createCounts();
  await synchronizer.run({ record, source, cursor: null, allowEmpty: false, signal, plan }, counts);
  return { error: changes[0]?.error, failed: counts.failed, lines };
}

t.test('the error of an item says what is wrong, without internals of the server', async (t) => {
  const rejected = await failWith(new AppError('bad_request', 'The metadata is too large.'));
  t.same(rejected, { error: 'The metadata is too large.', failed: 1, lines: [] });
  const unreadable = await failWith(Object.assign(new Error('EACCES: /srv/secret'), { code: 'EACCES' }));
  t.same(unreadable, { error: 'The item cannot be read (EACCES).', failed: 1, lines: [] });
  const unexpected = new TypeError('x.secret is not a function');
  const failed = await failWith(unexpected);
  t.match(failed.error, /^The item failed with an internal error\. Ask the operator/);
  const { name, message } = unexpected;
  t.match(failed.lines, [{ sourceId: uuid, error: { name, message } }], 'the operator gets the cause');
  const { lines } = await failWith(unexpected, false);
  t.match(lines, [{ sourceId: uuid, error: { name, message: undefined } }], 'with zero data retention');
});
