import t from 'tap';
import { QueryReplies, type Showing } from '../../src/services/query-replies.ts';
import { JsonWriter, Rendered } from '../../src/services/rendered.ts';
import { version } from '../store/records.ts';
import { seeded } from '../store/seeded.ts';

const chance = seeded();

/** Anything that a string can hold: quotes, control characters, both halves of pairs alone, text of many scripts. */
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
  return Array.from({ length: chance.below(30) }, () =>
    chance.below(3) === 0
      ? special[chance.below(special.length)]
      : String.fromCharCode(chance.below(chance.below(2) === 0 ? 128 : 65_536)),
  ).join('');
}

const number = () => [0, -0, 1, 1e21, 1e-7, Math.fround(0.3), chance.below(1_000_000) / 7][chance.below(7)]!;

function hit(documents: number) {
  const id = chance.below(documents);
  const origin = {
    lexical: number(),
    similarity: number(),
    fused: number(),
    rerank: chance.below(2) === 0 ? null : number(),
    words: Array.from({ length: chance.below(3) }, text),
  };
  const content = text();
  const kept = chance.below(2) === 0;
  return {
    version: version({
      version: id,
      documentId: `document ${id}`,
      path: `${id} ${id % 2 === 0 ? '\ud800"' : 'é'}`,
      metadata: { 'a-1': `\u0001 "${id}"`, 'list:b': ['x', '😀'] },
    }),
    score: number(),
    origin,
    text: content,
    textJson: kept ? Buffer.from(JSON.stringify(content)) : null,
    start: chance.below(1_000_000),
    end: chance.below(1_000_000),
    pageStart: chance.below(9),
    pageEnd: chance.below(9),
    pageIndex: chance.below(9),
  };
}
type AnyHit = ReturnType<typeof hit>;

const explanationOf = ({ origin }: AnyHit) => ({
  lexical: { score: origin.lexical, terms: [...origin.words] },
  vector: { similarity: origin.similarity },
  fused: origin.fused,
  rerank: origin.rerank,
});

/** The replies as objects: what the rendered ones must be the JSON of. */
function plain(hits: readonly AnyHit[], showing: Showing, explanation: object) {
  const extra = (each: AnyHit) => (showing.explain ? { explain: explanationOf(each) } : {});
  const document = ({ version: { path, metadata, documentId }, score }: AnyHit) => ({
    path,
    score,
    metadata: showing.metadata ? metadata : null,
    file_url: showing.fileUrl(documentId),
  });
  const first = hits.filter(
    (each, i) => hits.findIndex((other) => other.version.version === each.version.version) === i,
  );
  const end = showing.explain ? { explain: explanation } : {};
  const document_results = first.map(document);
  const snippets = hits.map((each) => ({
    path: each.version.path,
    start_index: each.start,
    end_index: each.end,
    page_span: [each.pageStart, each.pageEnd],
    content: each.text,
    score: each.score,
    ...extra(each),
  }));
  const pages = hits.map((each) => ({
    path: each.version.path,
    page_index: each.pageIndex,
    score: each.score,
    content: each.pageIndex % 2 === 0 ? each.text : null,
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
    const { pageIndex, text: content } = found as AnyHit;
    return pageIndex % 2 === 0 ? content : null;
  },
  imageUrl: ({ pageIndex }: { pageIndex: number }) =>
    pageIndex % 3 === 0 ? `http://quarry.test/"${pageIndex}"` : null,
};

const models = { embedded: true, reranked: 0 };

t.test(`a reply is, byte for byte, the JSON of what it says (seed ${chance.seed})`, async (t) => {
  const replies = new QueryReplies();
  for (let round = 0; round < 400; round += 1) {
    const hits = Array.from({ length: chance.below(8) }, () => hit(4));
    const times = { embed: number(), search: number(), rerank: number(), read: number() };
    const shards = [{ shard: 1, strategy: 'exact', candidates: 3, ms: number() }];
    const found = { hits, shards, times, models };
    const showing = {
      metadata: chance.below(2) === 0,
      explain: chance.below(2) === 0,
      fileUrl: (documentId: string) => `http://quarry.test/${documentId}`,
    };
    const expected = plain(hits, showing, { shards: found.shards, ms: times });
    const made = {
      documents: replies.documents(found, showing),
      snippets: replies.snippets(found, showing),
      pages: replies.pages(found, { ...showing, ...ofPages }),
    };
    for (const kind of ['documents', 'snippets', 'pages'] as const) {
      const json = Buffer.from(made[kind].json).toString();
      if (json !== JSON.stringify(expected[kind])) t.equal(json, JSON.stringify(expected[kind]), kind);
    }
  }
  t.pass('all rounds');
});

t.test('a reply that fails half-way leaves nothing to the next one', async (t) => {
  const replies = new QueryReplies();
  const times = { embed: 0, search: 0, rerank: 0, read: 0 };
  const showing = { metadata: false, explain: false, fileUrl: () => '' };
  const found = { hits: [hit(1), hit(1)], shards: [], times, models };
  const content = () => {
    throw new Error('the store is being reopened');
  };
  t.throws(() => replies.pages(found, { ...showing, ...ofPages, content }), /reopened/);
  const none = { hits: [], shards: [], times, models };
  t.same(replies.documents(none, showing).parse(), { results: [] });
  t.same(replies.snippets(none, showing).parse(), { results: [], document_results: [] });
});

t.test('a reply of any length is whole, and what was taken stays as it is', async (t) => {
  const writer = new JsonWriter();
  const long = `"${'é'.repeat(400_000)}"`;
  for (let round = 0; round < 3; round += 1) {
    writer.begin();
    writer.text('[1,');
    writer.bytes(Buffer.from(long));
    writer.text(`,${long}]`);
    const first = new Rendered<unknown[]>(writer.take());
    writer.begin();
    writer.text('[2]');
    t.same(new Rendered(writer.take()).parse(), [2]);
    t.equal(Buffer.from(first.json).toString(), `[1,${long},${long}]`);
  }
  t.same(Rendered.of({ a: '\ud800' }).parse(), { a: '\ud800' });
});
