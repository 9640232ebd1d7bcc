import { readChunks, readRecords } from '../../src/search/chunk-hits.ts';
import t from '../support/tap.ts';

/** Each record may have 128 kB of metadata: 16 of them take as long to decode as one step may last. */
const recordsPerStepMax = 15;

function createQuery() {
  const steps = [0];
  const read = (_: string, items: readonly unknown[]) => {
    steps[steps.length - 1]! += items.length;
    return items.map(() => undefined);
  };
  const yieldToEventLoop = () => {
    steps.push(0);
    return null;
  };
  const query = {
    request: { collection: { collectionId: 'c' }, yieldToEventLoop },
    recorder: { measure: (_: string, work: () => Promise<unknown>) => work() },
  };
  return {
    steps,
    components: { reader: { readRecords: read, readRows: read } } as never,
    query: query as never,
  };
}

t.test('records and chunks are read in short steps', async (t) => {
  const versions = Array.from({ length: 100 }, (_, i) => i);
  const candidates = versions.map((version) => ({ version, row: 0, score: 0 }));
  const records = createQuery();
  t.equal((await readRecords(records.components, records.query, versions)).length, 100);
  const chunks = createQuery();
  t.same(await readChunks(chunks.components, chunks.query, candidates as never), []);
  for (const { steps } of [records, chunks]) {
    t.equal(
      steps.reduce((sum, count) => sum + count, 0),
      100,
    );
    t.ok(Math.max(...steps) <= recordsPerStepMax);
  }
});
