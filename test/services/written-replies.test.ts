import { dequantize } from '../../src/models/quantization.ts';
import { Search } from '../../src/search/search.ts';
import { DocumentUrls } from '../../src/services/document-urls.ts';
import type { QueryServices } from '../../src/services/queries.ts';
import { letterVectors, tokenSecret } from '../simulate/server-components.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import {
  addTextDocument,
  createQueryServices,
  createServices,
  type ServiceFixture,
  serviceCallFor,
} from './service-fixture.ts';

const random = createTestRandom();

/** Counts the replies that the engine has written. */
class CountingSearch extends Search {
  /** By kind of result. */
  readonly written = { snippets: 0, fineSnippets: 0, documents: 0, pages: 0 };

  override async writeSnippets(...request: Parameters<Search['writeSnippets']>) {
    return this.#count('snippets', await super.writeSnippets(...request));
  }

  override async writeFineSnippets(...request: Parameters<Search['writeFineSnippets']>) {
    return this.#count('fineSnippets', await super.writeFineSnippets(...request));
  }

  override async writePages(...request: Parameters<Search['writePages']>) {
    return this.#count('pages', await super.writePages(...request));
  }

  override async writeDocuments(...request: Parameters<Search['writeDocuments']>) {
    return this.#count('documents', await super.writeDocuments(...request));
  }

  #count<Result extends object>(kind: keyof CountingSearch['written'], result: Result): Result {
    if ('written' in result) this.written[kind] += 1;
    return result;
  }
}

function createCountingSearch(first: ServiceFixture['first']): CountingSearch {
  return new CountingSearch({
    ...first,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    getIndex: (collectionId, generation) => first.indexes.get(collectionId, generation),
    findExpired: async () => new Float64Array(0),
    decodeVectors: dequantize,
    mayDegrade: true,
    isKnownWord: null,
    models: {
      embed: async ({ text }) => letterVectors([text]).vectors,
      rerank: async (_model, _query, texts) => new Float32Array(texts.length),
      measureRelevance: async (_query, texts) => new Float32Array(texts.length),
      rerankWeight: () => 1,
    },
  });
}

const words = [
  'herring',
  'Ängste',
  'the',
  'salted',
  '北海道',
  'barrel"s',
  'x\\y',
  'tab\there',
  '🐟',
  'running',
  'zzz',
];

function randomText(length: number): string {
  return Array.from({ length }, () => words[random.below(words.length)]!).join(' ');
}

function randomRequest() {
  const isRare = () => random.below(6) === 0;
  return {
    collection_name: 'papers',
    query: isRare() ? '' : randomText(1 + random.below(4)),
    k: isRare() ? 1 + random.below(300) : 1 + random.below(12),
    ...(isRare() ? { filter: { year: { $eq: String(random.below(3)) } } } : {}),
    ...(isRare() ? { weights: { lexical: random.below(3), vector: 1 + random.below(3) } } : {}),
    ...(isRare() ? { weights: { lexical: 1, vector: 0 } } : {}),
    ...(isRare() ? { latency_mode: 'high' as const } : {}),
    ...(isRare() ? { min_score: random.below(10) / 10 } : {}),
    ...(isRare() ? { max_per_document: 1 + random.below(3) } : {}),
    ...(isRare() ? { include_metadata: true, include_document_metadata: true } : {}),
    ...(isRare() ? { precise_responses: true } : {}),
    include_content: random.below(2) === 0,
  };
}

const baseUrls = ['http://quarry.test', 'https://é.test/"', 'http://127.0.0.1:1'];

/** Adds, replaces or deletes a document. */
async function changeDocument(fixture: ServiceFixture): Promise<void> {
  const path = `${random.below(30)}"é.txt`;
  if (random.below(4) === 0) {
    await fixture.documents
      .deleteDocument(serviceCallFor(), { collection_name: 'papers', path })
      .catch(() => undefined);
    return;
  }
  const length = random.below(5) === 0 ? 1_500 : 1 + random.below(40);
  const metadata = { year: String(random.below(3)) };
  const isPaged = random.below(3) === 0;
  const pages = Array.from({ length: 1 + random.below(3) }, () => randomText(1 + random.below(2 * length)));
  const fields = isPaged ? { metadata, content: { type: 'text-pages', pages } } : { metadata };
  await addTextDocument(fixture, path, randomText(length), fields);
}

type Call = Parameters<QueryServices['topSnippets']>[0];
type Render = (queries: QueryServices) => Promise<{ toBytes(): Buffer }>;

/** The engine writes few replies of pages, so more of them are requested. */
const renders: readonly ((call: Call, request: ReturnType<typeof randomRequest>) => Render)[] = [
  (call, request) => (queries) => queries.topSnippets(call, request),
  (call, request) => (queries) => queries.topSnippets(call, { ...request, precise_responses: true }),
  (call, request) => (queries) => queries.topDocuments(call, request),
  ...Array.from({ length: 2 }, () => (call: Call, request: ReturnType<typeof randomRequest>) => {
    return (queries: QueryServices) => queries.topPages(call, request);
  }),
];

/** Replies of each kind that the engine must write; few requests of some kinds allow it to. */
const writtenMin = 5;
const roundsMax = 10_000;

t.test(
  `the engine writes the replies that the services render, byte for byte (seed ${random.seed})`,
  async (t) => {
    const fixture = await createServices(t);
    const { first } = fixture;
    const urls = new DocumentUrls(tokenSecret);
    const search = createCountingSearch(first);
    const { queries: writing } = createQueryServices({ ...first, search }, urls);
    const { queries: rendering } = createQueryServices({ ...first, search }, urls, { replyParts: null });
    for (let round = 0; round < 40; round += 1) await changeDocument(fixture);
    const isRare = (count: number) => count <= writtenMin;
    for (let round = 0; round < 500 || Object.values(search.written).some(isRare); round += 1) {
      if (round === roundsMax) break;
      if (round % 25 === 0) await changeDocument(fixture);
      const request = randomRequest();
      const call = { ...serviceCallFor(), baseUrl: baseUrls[random.below(20) === 0 ? random.below(3) : 0]! };
      const render = renders[random.below(renders.length)]!(call, request);
      const [actual, expected] = [await render(writing), await render(rendering)].map((reply) =>
        reply.toBytes(),
      );
      if (!actual!.equals(expected!)) {
        t.equal(actual!.toString(), expected!.toString(), JSON.stringify(request));
        return;
      }
    }
    for (const [kind, count] of Object.entries(search.written))
      t.notOk(isRare(count), `the engine wrote ${count} replies of ${kind}`);
  },
);
