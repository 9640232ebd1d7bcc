import type { FairSemaphore } from '../../src/core/async/fair-semaphore.ts';
import { queryLimits } from '../../src/core/query-limits.ts';
import type { FilterNode } from '../../src/index/collection-index.ts';
import { AllowedDocuments } from '../../src/search/allowed-documents.ts';
import { Vocabularies, type VocabulariesOptions } from '../../src/search/vocabularies.ts';
import { VocabularyReader, type VocabularyReaderOptions } from '../../src/search/vocabulary-reader.ts';
import type { Collection } from '../../src/storage/collections.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import { type IngestComponents, openComponents, textDocument } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { testEventMsMax, waitUntil } from '../timeouts.ts';
import { addDocuments } from './search-fixtures.ts';

const everything = { limit: 20, stopWords: new Set<string>() };
const backgroundScheduler = { slice: () => () => null };
const openSemaphore = { acquire: () => null, release: () => undefined };
const caller = { filter: null, deadlineMs: testEventMsMax, token: cancellationTokenWith() };

function openVocabularies({ indexes, versions, contents }: IngestComponents, now: () => number) {
  const errors: unknown[] = [];
  const vocabularies = new Vocabularies({
    getIndex: (collectionId) => indexes.get(collectionId),
    reader: new VocabularyReader({ versions, contents, backgroundScheduler }),
    clock: { now, monotonic: now },
    sampleSemaphore: openSemaphore,
    readingSemaphore: openSemaphore,
    onError: (error) => errors.push(error),
  });
  return { vocabularies, errors };
}

t.test('words of removed documents disappear at once, those of new documents appear later', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, { 'a.txt': ['herring and hake'], 'b.txt': ['halibut'] });
  let now = 0;
  const { vocabularies, errors } = openVocabularies(first, () => now);
  const suggest = async (query: string, filter: FilterNode | null = null) => {
    const collection = first.collections.findById(first.papers.collectionId)!;
    const { vocabulary, allowed } = await vocabularies.find(collection, { ...caller, filter });
    return vocabulary.suggest(query, { ...everything, allowed }).map((found) => found.query);
  };
  const all = await Promise.all([suggest('h'), suggest('h')]);
  t.same(all, [
    ['hake', 'halibut', 'herring'],
    ['hake', 'halibut', 'herring'],
  ]);
  const live = first.documents.get(first.papers.collectionId, 'b.txt')!.live!;
  t.same(await suggest('h', { kind: 'version', operator: 'in', versions: [live] }), ['halibut']);
  const replaced = await first.writer.add(first.papers, {
    ...textDocument('a.txt', 'haddock'),
    overwrite: true,
  });
  await first.ingest.waitUntilSettled(replaced.version, AbortSignal.timeout(testEventMsMax));
  t.same(await suggest('h'), ['halibut'], 'the words of the old text');
  now = 3_600_000;
  await waitUntil('reading the new text', async () => (await suggest('h')).includes('haddock'));
  t.same(await suggest('h'), ['haddock', 'halibut']);
  vocabularies.delete(first.papers);
  t.same(await suggest('h'), ['haddock', 'halibut'], 'read again');
  await vocabularies.close();
  t.same(errors, []);
});

interface FakeCollection {
  readonly documents: number;
  readonly textOf: (version: number) => string;
  /** Each chunk of a document has the same text. Default: 1. */
  readonly chunks?: number;
  readonly expiresAt?: (version: number) => number | undefined;
}

/** Options with an index and a store of many documents that exist in memory only, and the filters of its listings. */
function fakeOptions({ documents, textOf, chunks = 1, expiresAt }: FakeCollection) {
  const listed: (FilterNode | null)[] = [];
  const removed = new Set<number>();
  const errors: unknown[] = [];
  const index = {
    commits: 0,
    list: async (filter: FilterNode | null, limit: number) => {
      listed.push(filter);
      const all =
        filter?.kind === 'version' ? filter.versions : Array.from({ length: documents }, (_, i) => i);
      return Float64Array.from(all.filter((version) => !removed.has(version)).slice(0, limit));
    },
  };
  const reader = new VocabularyReader({
    versions: {
      getMany: (_id: string, versions: readonly number[]) =>
        versions.map((version) => ({
          version,
          documentId: String(version),
          expiresAt: expiresAt?.(version),
        })),
    },
    contents: {
      chunks: {
        readLayout: () => ({ title: null, chunkStarts: new Uint32Array(chunks) }),
        read: ([key]: readonly { readonly documentId: string }[]) => [
          { text: textOf(Number(key!.documentId)) },
        ],
      },
    },
    backgroundScheduler,
  } as unknown as VocabularyReaderOptions);
  const options = {
    getIndex: () => index as unknown as ReturnType<VocabulariesOptions['getIndex']>,
    reader,
    clock: { now: () => 0, monotonic: () => 0 },
    sampleSemaphore: openSemaphore,
    readingSemaphore: openSemaphore,
    onError: (error: unknown) => errors.push(error),
  } satisfies VocabulariesOptions;
  return { options, index, listed, removed, errors };
}

const collection = { collectionId: 'c', organizationId: 'o', languages: [] } as unknown as Collection;

async function suggestFrom(vocabularies: Vocabularies, query = 'h') {
  const { vocabulary, allowed } = await vocabularies.find(collection, caller);
  return vocabulary.suggest(query, { ...everything, allowed });
}

/** A semaphore whose permits are given by `open`. */
function closedSemaphore() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const semaphore: Pick<FairSemaphore, 'acquire' | 'release'> = {
    acquire: () => opened,
    release: () => undefined,
  };
  return { semaphore, open };
}

t.test('the first suggestion comes from a sample, later ones from all documents', async (t) => {
  const documents = queryLimits.vocabularyDocumentsMax;
  const { vocabularySampleDocumentsMax: sampled } = queryLimits;
  const rare = Math.floor(documents / sampled) + 1;
  const fake = fakeOptions({ documents, textOf: (version) => (version === rare ? 'herring' : 'hake') });
  const { semaphore, open } = closedSemaphore();
  const vocabularies = new Vocabularies({ ...fake.options, readingSemaphore: semaphore });
  const first = [{ query: 'hake', documents: sampled }];
  t.same(await Promise.all([suggestFrom(vocabularies), suggestFrom(vocabularies)]), [first, first]);
  t.same(await suggestFrom(vocabularies), first, 'while the other documents wait to be read');
  open();
  const all = [
    { query: 'hake', documents: documents - 1 },
    { query: 'herring', documents: 1 },
  ];
  await waitUntil(
    'reading all documents',
    async () => (await suggestFrom(vocabularies)).length === all.length,
  );
  t.same(await suggestFrom(vocabularies), all);
  vocabularies.delete(collection);
  t.same(await suggestFrom(vocabularies), first, 'a deleted vocabulary is sampled again');
  t.same(await suggestFrom(vocabularies), first, 'a full reading is not repeated at once');
  await vocabularies.close();
  t.same(fake.errors, []);
});

t.test('a sample is partial if documents or text are left out', async (t) => {
  const {
    vocabularySampleDocumentsMax: documentsMax,
    vocabularySampleTextUnitsMax: textUnitsMax,
    vocabularyDocumentUnitsMax: documentUnitsMax,
  } = queryLimits;
  const chunkUnits = 1_024;
  const isPartial = async (documents: number, chunks: number) => {
    const textOf = () => 'herring '.repeat(chunkUnits / 8);
    const { options, index } = fakeOptions({ documents, chunks, textOf });
    return (await options.reader.readSample(collection, index)).isPartial;
  };
  const chunksMax = textUnitsMax / documentsMax / chunkUnits;
  t.equal(await isPartial(documentsMax, chunksMax), false);
  t.equal(await isPartial(documentsMax + 1, 1), true, 'more documents');
  t.equal(await isPartial(documentsMax, chunksMax + 1), true, 'more text');
  t.equal(await isPartial(1, (2 * documentUnitsMax) / chunkUnits), false, 'text that is never read');
});

t.test('a full reading that fails is reported, and repeated after a pause', async (t) => {
  const fake = fakeOptions({ documents: 1_000, textOf: () => 'hake' });
  let now = 0;
  let readings = 0;
  const vocabularies = new Vocabularies({
    ...fake.options,
    clock: { now: () => 0, monotonic: () => now },
    reader: {
      readAll: async () => {
        readings += 1;
        throw new Error(`reading ${readings}`);
      },
      readSample: (...parameters) => fake.options.reader.readSample(...parameters),
      stop: () => undefined,
    },
  });
  await suggestFrom(vocabularies);
  await waitUntil('the failure', () => fake.errors.length === 1);
  t.equal((await suggestFrom(vocabularies)).length, 1);
  t.equal(readings, 1);
  now = queryLimits.vocabularyRefreshMsMin;
  await suggestFrom(vocabularies);
  await waitUntil('the second failure', () => fake.errors.length === 2);
  await vocabularies.close();
});

t.test('closing ends a reading, and starts no other', async (t) => {
  const fake = fakeOptions({ documents: 1_000, textOf: () => 'hake' });
  const { semaphore, open } = closedSemaphore();
  const vocabularies = new Vocabularies({ ...fake.options, readingSemaphore: semaphore });
  await suggestFrom(vocabularies);
  const closed = vocabularies.close();
  open();
  await closed;
  t.same(fake.errors, [], 'expected, so not reported');
  await t.rejects(vocabularies.find({ ...collection, collectionId: 'd' }, caller), {
    code: 'unavailable',
  });
});

t.test(
  'of many documents, only those of the vocabulary are listed; one that expires is excluded',
  async (t) => {
    const removed = 17;
    const expiring = 18;
    const expiresAt = 5;
    const { options, index, listed, ...fake } = fakeOptions({
      documents: 3 * queryLimits.vocabularyDocumentsMax,
      textOf: (version) => (version === removed || version === expiring ? 'herring' : 'hake'),
      expiresAt: (version) => (version === expiring ? expiresAt : undefined),
    });
    const vocabulary = await options.reader.readAll(collection, index);
    const allowedDocuments = new AllowedDocuments(vocabulary);
    const suggest = async (now: number) => {
      const allowed = await allowedDocuments.find(index, caller, now);
      return vocabulary.suggest('h', { ...everything, allowed });
    };
    fake.removed.add(removed);
    const hake = { query: 'hake', documents: queryLimits.vocabularyDocumentsMax - 2 };
    t.same(await suggest(0), [hake, { query: 'herring', documents: 1 }]);
    t.match(listed, [null, null, { kind: 'version', operator: 'in' }]);
    t.same(await suggest(expiresAt - 1), [hake, { query: 'herring', documents: 1 }]);
    t.equal(listed.length, 3, 'nothing has changed');
    t.same(await suggest(expiresAt), [hake]);
  },
);
