import type { CollectionIndex } from '../../src/index/collection-index.ts';
import { IndexEntry } from '../../src/index/index-entry.ts';
import t from '../support/tap.ts';

function createEntry(rows: number): IndexEntry {
  const index = { statistics: () => ({ rows, compactions: 0 }) } as unknown as CollectionIndex;
  return new IndexEntry({ collectionId: 'c', generation: 0, index, changesSinceSnapshot: 0 });
}

t.test('a snapshot of a small index is due after 8,192 rows and changes', async (t) => {
  const entry = createEntry(8_000);
  entry.rowsSinceSnapshot = 8_000;
  entry.changesSinceSnapshot = 191;
  t.equal(entry.isSnapshotDue, false);
  entry.changesSinceSnapshot = 192;
  t.equal(entry.isSnapshotDue, true);
});

t.test('a snapshot of a large index is due after a sixteenth of its rows', async (t) => {
  const entry = createEntry(1_600_000);
  entry.rowsSinceSnapshot = 99_999;
  t.equal(entry.isSnapshotDue, false);
  entry.changesSinceSnapshot = 1;
  t.equal(entry.isSnapshotDue, true);
});
