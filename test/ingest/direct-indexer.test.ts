import { limits } from '../../src/core/limits.ts';
import t from '../support/tap.ts';
import {
  diskFullError,
  type IngestComponents,
  openComponents,
  searchText,
  textDocument,
} from './controllable-store.ts';

const batched = (path: string, text: string) => ({ ...textDocument(path, text), isBatched: true });

const addTexts = ({ writer, papers }: IngestComponents, paths: readonly string[]) =>
  Promise.all(paths.map((path) => writer.add(papers, batched(path, `a text about ${path} and harbors`))));

const countsOf = ({ counts, papers }: IngestComponents) => counts.get(papers.collectionId).documents;

t.test('small texts of a batch are indexed by two writes when they are acknowledged', async (t) => {
  const first = await openComponents(t);
  const { committedWrites } = first.store.statistics();
  const added = await addTexts(first, ['a.txt', 'b.txt']);
  t.match(added, [
    { created: true, status: 'indexed' },
    { created: true, status: 'indexed' },
  ]);
  t.equal(first.store.statistics().committedWrites - committedWrites, 2);
  t.same((await searchText(first, 'harbors')).sort(), ['a.txt', 'b.txt']);
  t.match(countsOf(first), { indexed: 2, not_indexed: 0 });
});

t.test('an indexed document is replaced in one step', async (t) => {
  const first = await openComponents(t);
  await addTexts(first, ['a.txt']);
  const replacement = { ...batched('a.txt', 'a text about lighthouses'), overwrite: true };
  t.match(await first.writer.add(first.papers, replacement), { created: false, status: 'indexed' });
  t.same(await searchText(first, 'harbors'), []);
  t.same(await searchText(first, 'lighthouses'), ['a.txt']);
  t.match(countsOf(first), { indexed: 1 });
});

t.test('documents of one path are added in their order', async (t) => {
  const first = await openComponents(t);
  const texts = ['harbors', 'lighthouses', 'anchors'];
  await Promise.all(
    texts.map((text) => first.writer.add(first.papers, { ...batched('a.txt', text), overwrite: true })),
  );
  t.same(await searchText(first, 'anchors'), ['a.txt']);
  t.same(await searchText(first, 'harbors'), []);
  t.match(countsOf(first), { indexed: 1 });
});

t.test('a document that cannot be chunked is queued', async (t) => {
  let failures = 0;
  const onChunk = async (path: string) => {
    if (path !== 'a.txt' || failures === 1) return;
    failures += 1;
    throw new Error('unlucky');
  };
  const first = await openComponents(t, { onChunk });
  const [failing, other] = await addTexts(first, ['a.txt', 'b.txt']);
  t.match([failing, other], [{ status: 'not_indexed' }, { status: 'indexed' }]);
  t.ok(failing!.version < other!.version, 'the versions are in the order of the batch');
  await first.ingest.waitUntilSettled(failing!.version, AbortSignal.timeout(60_000));
  t.same((await searchText(first, 'harbors')).sort(), ['a.txt', 'b.txt']);
});

t.test('a document is queued while the workers are busy', async (t) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let calls = 0;
  const onChunk = async () => {
    calls += 1;
    if (calls === 1) await released;
  };
  const first = await openComponents(t, { onChunk });
  const [added] = await addTexts(first, ['a.txt']);
  t.match(added, { created: true, status: 'not_indexed' });
  release();
  await first.ingest.waitUntilSettled(added!.version, AbortSignal.timeout(60_000));
  t.same(await searchText(first, 'harbors'), ['a.txt']);
});

t.test('a document whose content is stored but not published is queued as a new version', async (t) => {
  let late = 0;
  const clock = { now: () => Date.now() + late, monotonic: () => performance.now() };
  const first = await openComponents(t, { clock });
  const write = first.store.write.bind(first.store);
  let writes = 0;
  t.intercept(first.store, 'write', {
    value: async (...call: Parameters<typeof write>) => {
      writes += 1;
      if (writes === 2) throw diskFullError();
      await write(...call);
    },
  });
  const [added] = await addTexts(first, ['a.txt']);
  t.match(added, { created: true, status: 'not_indexed' });
  await first.ingest.waitUntilSettled(added!.version, AbortSignal.timeout(60_000));
  late = limits.garbageDelayMs + 1;
  await first.clean();
  t.same(await searchText(first, 'harbors'), ['a.txt'], 'its content is no garbage');
});

t.test('a file or a separate text is queued', async (t) => {
  const first = await openComponents(t);
  const added = await first.writer.add(first.papers, textDocument('a.txt', 'harbors'));
  t.equal(added.status, 'not_indexed');
});
