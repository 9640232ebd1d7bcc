import t, { type Test } from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { type IngestComponents, openComponents, searchText, textDocument } from './controllable-store.ts';

/** Components whose documents wait for memory, as while the limit is reached, until they are started together. */
async function openWaiting(t: Test, options: Parameters<typeof openComponents>[1] = {}) {
  const memoryLimit = { isReached: true };
  return { ...(await openComponents(t, { ...options, memory: memoryLimit })), memoryLimit };
}

/** Adds texts and starts them together. Returns promises that resolve when each is indexed or abandoned. */
async function addTexts(
  { writer, papers, ingest, memoryLimit }: Awaited<ReturnType<typeof openWaiting>>,
  paths: readonly string[],
) {
  const added = await Promise.all(
    paths.map((path) => writer.add(papers, textDocument(path, `a text about ${path} and harbors`))),
  );
  memoryLimit.isReached = false;
  return added.map(({ version }) => ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax)));
}

const statusOf = ({ documents, papers }: IngestComponents, path: string) =>
  documents.get(papers.collectionId, path)?.status;

t.test('documents that arrive together are indexed in shared writes', async (t) => {
  const first = await openWaiting(t);
  const { committedWrites } = first.store.statistics();
  await Promise.all(await addTexts(first, ['a.txt', 'b.txt']));
  t.equal(first.store.statistics().committedWrites - committedWrites, 2 + 2, 'one each, and two for both');
  t.same((await searchText(first, 'harbors')).sort(), ['a.txt', 'b.txt']);
  t.match(first.counts.get(first.papers.collectionId).documents, { indexed: 2, not_indexed: 0 });
});

t.test('a document that is deleted meanwhile does not prevent the others of its batch', async (t) => {
  let first: Awaited<ReturnType<typeof openWaiting>> | null = null;
  let removing: Promise<unknown> | null = null;
  const onChunk = async () => {
    removing ??= first!.writer.remove(first!.papers, ['a.txt']);
    await removing;
  };
  first = await openWaiting(t, { onChunk });
  await Promise.all(await addTexts(first, ['a.txt', 'b.txt']));
  t.equal(statusOf(first, 'a.txt'), undefined);
  t.equal(statusOf(first, 'b.txt'), 'indexed');
  t.same(await searchText(first, 'harbors'), ['b.txt']);
  t.match(first.counts.get(first.papers.collectionId).documents, { indexed: 1, not_indexed: 0 });
});

t.test('a document that cannot be chunked does not prevent the others of its batch', async (t) => {
  let failures = 0;
  const onChunk = async (path: string) => {
    if (path !== 'a.txt' || failures === 2) return;
    failures += 1;
    throw new Error('unlucky');
  };
  const first = await openWaiting(t, { onChunk });
  const [failing, other] = await addTexts(first, ['a.txt', 'b.txt']);
  await other;
  t.same(await searchText(first, 'harbors'), ['b.txt']);
  await failing;
  t.equal(statusOf(first, 'a.txt'), 'indexed', 'after another attempt');
  t.equal(failures, 2);
});
