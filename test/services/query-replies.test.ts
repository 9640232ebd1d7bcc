import { randomUUID } from 'node:crypto';
import { parseOperators } from '../../src/search/operators.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import { DocumentUrls } from '../../src/services/document-urls.ts';
import {
  type ReplyOptions,
  renderDocuments,
  renderPages,
  renderSnippets,
} from '../../src/services/query-replies.ts';
import { RenderedJson } from '../../src/services/rendered-json.ts';
import { ReplyFragments } from '../../src/services/reply-fragments.ts';
import { version } from '../storage/records.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';

const random = createTestRandom();
const documentUrls = new DocumentUrls(new Uint8Array(32));
const documentIds = Array.from({ length: 4 }, () => randomUUID());

/** Random strings with quotes, control characters, unpaired surrogates, and text of many scripts. */
function text(): string {
  const special = [
    '"',
    '\\',
    '\u0000',
    '\u001f',
    '\u007f',
    '\u2028',
    '\ud800',
    '\udc00',
    '😀',
    '中',
    'é',
    '/',
    '\n',
  ];
  return Array.from({ length: random.below(30) }, () =>
    random.below(3) === 0
      ? special[random.below(special.length)]
      : String.fromCharCode(random.below(random.below(2) === 0 ? 128 : 65_536)),
  ).join('');
}

const number = () => [0, -0, 1, 1e21, 1e-7, Math.fround(0.3), random.below(1_000_000) / 7][random.below(7)]!;

function hit() {
  const id = random.below(documentIds.length);
  const origin = {
    location: null,
    lexical: number(),
    similarity: number(),
    fused: number(),
    rerank: random.below(2) === 0 ? null : number(),
    proximity: random.below(2) === 0 ? null : { lead: number(), order: number(), nearness: number() },
    matches: Array.from({ length: random.below(3) }, () => ({ queryWord: text(), words: [text()] })),
    matchesIn: () => [],
    modelText: text,
    relevance: random.below(2) === 0 ? null : number(),
  };
  const content = text();
  const path = `${id} ${id % 2 === 0 ? '\ud800"' : 'é'}`;
  const metadata = { 'a-1': `\u0001 "${id}"`, 'list:b': ['x', '😀'] };
  return {
    version: version({ version: id, documentId: documentIds[id]!, path, metadata }),
    score: number(),
    origin,
    snippet: {
      text: content,
      start: random.below(1_000_000),
      end: random.below(1_000_000),
      pageStart: random.below(9),
      pageEnd: random.below(9),
    },
    row: 0,
    rows: [0],
    pageIndex: random.below(9),
  };
}
type AnyHit = ReturnType<typeof hit>;

const explanationOf = ({ origin }: AnyHit) => ({
  lexical: {
    score: origin.lexical,
    terms: origin.matches.map(({ queryWord }) => queryWord),
    words: origin.matches.map(({ words }) => words),
  },
  vector: { similarity: origin.similarity },
  fused: origin.fused,
  rerank: origin.rerank,
  relevance: origin.relevance,
  look: origin.proximity,
});

/** Replies as objects; a rendered reply must equal their JSON. */
function plain(hits: readonly AnyHit[], showing: ReplyOptions, explanation: object) {
  const extra = (each: AnyHit) => (showing.explain ? { explain: explanationOf(each) } : {});
  const document = ({ version, score }: AnyHit) => ({
    path: version.path,
    score,
    metadata: showing.metadata ? version.metadata : null,
    file_url: documentUrls.fileUrl(showing.baseUrl, version.documentId),
  });
  const first = hits.filter(
    (each, i) => hits.findIndex((other) => other.version.version === each.version.version) === i,
  );
  const end = showing.explain ? { explain: explanation } : {};
  const document_results = first.map(document);
  const snippets = hits.map((each) => ({
    path: each.version.path,
    start_index: each.snippet.start,
    end_index: each.snippet.end,
    page_span: [each.snippet.pageStart, each.snippet.pageEnd],
    content: each.snippet.text,
    score: each.score,
    ...extra(each),
  }));
  const pages = hits.map((each) => ({
    path: each.version.path,
    page_index: each.pageIndex,
    score: each.score,
    content: each.pageIndex % 2 === 0 ? each.snippet.text : null,
    image_url: each.pageIndex % 3 === 0 ? `http://quarry.test/"${each.pageIndex}"` : null,
    ...extra(each),
  }));
  return {
    documents: { results: hits.map((each) => ({ ...document(each), ...extra(each) })), ...end },
    snippets: { results: snippets, document_results, ...end },
    pages: { results: pages, document_results, ...end },
  };
}

const ofPages = {
  content: (found: object) => {
    const { pageIndex, snippet } = found as AnyHit;
    if (pageIndex % 2 !== 0) return null;
    return pageIndex % 4 === 0 ? snippet.text : snippet;
  },
  imageUrl: ({ pageIndex }: { pageIndex: number }) =>
    pageIndex % 3 === 0 ? `http://quarry.test/"${pageIndex}"` : null,
};

const models = { embedded: true, reranked: 0, missing: [] };
const usual = {
  weights: { lexical: 1, vector: 0.6 },
  min_score: null,
  max_per_document: null,
  syntax: 'natural',
  phrases: [],
  excluded: [],
  checked: 0,
  complete: true,
};

t.test(`a reply is byte for byte the JSON of its content (seed ${random.seed})`, async (t) => {
  for (let round = 0; round < 400; round += 1) {
    const hits = Array.from({ length: random.below(8) }, () => hit());
    const times = { embed: number(), search: number(), rerank: number(), read: number() };
    const shard = { shard: 1, strategy: 'graph', effort: 24, calibrated: true, candidates: 3, ms: number() };
    const candidates = { shards: [shard] };
    const selection = { checked: 0, complete: true, rescored: 7 };
    const corrections = [{ typed: 'herrng', terms: ['her'], replacement: '"herring"' }];
    const goodMatch = [true, false, null][random.below(3)]!;
    const found = {
      hits,
      goodMatch,
      candidates,
      times,
      models,
      control: defaultControl,
      selection,
      corrections,
    };
    const showing = {
      metadata: random.below(2) === 0,
      explain: random.below(2) === 0,
      areChunks: random.below(2) === 0,
      fragments: new ReplyFragments(documentUrls),
      baseUrl: 'http://quarry.test/"',
      yieldToEventLoop: () => null,
    };
    const expectedExplanation = {
      shards: [shard],
      ms: times,
      missing: [],
      spelling: [{ typed: 'herrng', terms: ['her'], read_as: '"herring"' }],
      good_match: goodMatch,
      looked_at: 7,
      control: usual,
    };
    const expected = plain(hits, showing, expectedExplanation);
    const reply = {
      documents: await renderDocuments(found, showing),
      snippets: await renderSnippets(found, showing),
      pages: await renderPages(found, { ...showing, ...ofPages }),
    };
    for (const kind of ['documents', 'snippets', 'pages'] as const) {
      const json = reply[kind].toBytes().toString();
      const inRuns = Buffer.concat([...reply[kind].byteChunks(7)]);
      if (!inRuns.equals(reply[kind].toBytes())) t.equal(inRuns.toString(), json, `${kind} in runs`);
      if (json !== JSON.stringify(expected[kind])) t.equal(json, JSON.stringify(expected[kind]), kind);
    }
    // Renders the same documents and texts again, with another file URL.
    const atOtherUrl = { ...showing, baseUrl: 'https://é.test/' };
    for (const again of [atOtherUrl, showing]) {
      const { snippets, documents } = plain(hits, again, expectedExplanation);
      t.equal((await renderSnippets(found, again)).toBytes().toString(), JSON.stringify(snippets));
      t.equal((await renderDocuments(found, again)).toBytes().toString(), JSON.stringify(documents));
    }
  }
  t.pass('all rounds');
});

t.test('a search that stopped at its limits reports it with the requested values', async (t) => {
  const { operators } = parseOperators('"salted herring" -smoked');
  const control = { weights: { lexical: 2, vector: 0 }, minScore: 0.25, maxPerDocument: 3, operators };
  const times = { embed: 0, search: 0, rerank: 0, read: 0 };
  const found = {
    hits: [],
    goodMatch: null,
    candidates: { shards: [] },
    times,
    models,
    control,
    selection: { checked: 4_096, complete: false, rescored: 0 },
    corrections: [],
  };
  const rendered = await renderDocuments(found, {
    metadata: false,
    explain: true,
    fragments: new ReplyFragments(documentUrls),
    baseUrl: 'http://quarry.test',
    yieldToEventLoop: () => null,
  });
  const reply = rendered.parse();
  t.match(reply.warnings, [/stopped at its limits after checking 4,096 chunks/]);
  t.same(reply.explain?.control, {
    weights: { lexical: 2, vector: 0 },
    min_score: 0.25,
    max_per_document: 3,
    syntax: 'operators',
    phrases: ['salted herring'],
    excluded: ['smoked'],
    checked: 4_096,
    complete: false,
  });
});

t.test('a reply has the same bytes from every source, and the stated length', async (t) => {
  const kept = Buffer.from('"é 中"');
  const reply = new RenderedJson(['[1,', kept, ',"\u00e9😀"]']);
  t.equal(reply.toBytes().toString(), '[1,"é 中","é😀"]');
  t.equal(reply.byteLength, reply.toBytes().byteLength);
  const larger = Buffer.alloc(100, 'x');
  reply.copyTo(larger);
  t.equal(larger.subarray(0, reply.byteLength).toString(), reply.toBytes().toString());
  t.equal(larger[reply.byteLength], 'x'.charCodeAt(0), 'no further byte follows');
  t.same(reply.parse(), [1, 'é 中', 'é😀']);
  t.same(RenderedJson.of({ a: '\ud800' }).parse(), { a: '\ud800' });
});

t.test('the parts that replies repeat are serialized once for each object', async (t) => {
  const fragments = new ReplyFragments(documentUrls);
  const { version: record, snippet } = hit();
  const chunk = fragments.ofChunk(record, snippet);
  t.equal(fragments.ofChunk(record, snippet), chunk);
  t.not(fragments.ofChunk(record, { ...snippet }), chunk);
  const document = fragments.ofDocument(record, 'http://quarry.test');
  t.equal(fragments.ofDocument(record, 'http://quarry.test'), document);
  t.match(fragments.ofDocument(record, 'https://é.test').fileUrlJson, /^"https:\/\/é\.test\//);
  t.same(fragments.ofDocument(record, 'http://quarry.test'), document);
});
