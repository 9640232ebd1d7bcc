import { dequantize } from '../../src/models/quantization.ts';
import { defaultControl, type SearchControl, type SearchRequest } from '../../src/search/query-request.ts';
import { Search } from '../../src/search/search.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import { type IngestComponents, openComponents, textDocument } from '../ingest/controllable-store.ts';
import { letterVectors } from '../simulate/server-components.ts';
import { testEventMsMax } from '../timeouts.ts';

/** Request for 10 results for "herring"; `fields` replace its parts. */
export function searchRequest(
  { collections, papers }: IngestComponents,
  fields: Partial<SearchRequest>,
): SearchRequest {
  return {
    collection: collections.findById(papers.collectionId)!,
    query: 'herring',
    k: 10,
    filter: null,
    reranker: null,
    isWide: false,
    deadlineMs: testEventMsMax,
    yieldToEventLoop: () => null,
    caller: cancellationTokenWith(),
    explain: false,
    control: defaultControl,
    ...fields,
  };
}

/** Request with the given search control, which also determines how operators of the query are parsed. */
export function controlledRequest(
  first: IngestComponents,
  control: Partial<SearchControl>,
  fields: Partial<SearchRequest> = {},
) {
  return searchRequest(first, { ...fields, control: { ...defaultControl, ...control } });
}

/** Adds documents by path, as lists of pages, and waits until they are indexed. */
export async function addDocuments(
  first: IngestComponents,
  documents: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const { writer, ingest, papers } = first;
  await Promise.all(
    Object.entries(documents).map(async ([path, pages]) => {
      const { version } = await writer.add(papers, { ...textDocument(path, pages.join('\n\n')), pages });
      await ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
    }),
  );
}

/** One text of hundreds of chunks about herring, and many short ones that mention it once. */
export async function openLongAndShort(t: Parameters<typeof openComponents>[0]): Promise<IngestComponents> {
  const first = await openComponents(t);
  const long = Array.from(
    { length: 9_000 },
    (_, i) => `herring number ${i} swims past the old harbour wall. `,
  ).join('');
  const notes = Array.from(
    { length: 60 },
    (_, i) => [`note-${i}.txt`, [`a short note ${i} about a herring`]] as const,
  );
  await addDocuments(first, { 'long.txt': [long], ...Object.fromEntries(notes) });
  return first;
}

export const granularities = [
  'searchSnippets',
  'searchFineSnippets',
  'searchPages',
  'searchDocuments',
] as const;

/** Search over the same components with other models; by default, texts have the vectors of their letters. */
export function createSearch(
  components: IngestComponents,
  models: Partial<ConstructorParameters<typeof Search>[0]['models']>,
  isKnownWord: ((word: string) => boolean) | null = () => false,
): Search {
  return new Search({
    ...components,
    clock: { now: () => 0, monotonic: () => 0 },
    getIndex: (collectionId) => components.indexes.get(collectionId),
    findExpired: async () => new Float64Array(0),
    decodeVectors: dequantize,
    mayDegrade: true,
    isKnownWord,
    models: {
      embed: async ({ text }) => letterVectors([text]).vectors,
      measureRelevance: async (_query, texts) => new Float32Array(texts.length),
      rerankWeight: () => 1,
      rerank: async (_model, _query, texts) => new Float32Array(texts.length),
      ...models,
    },
  });
}
