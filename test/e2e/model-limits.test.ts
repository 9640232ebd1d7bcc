import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinSmallServer } from './small-server.ts';

/**
 * Unusual texts get a correct reply, or a 4xx that names the problem: as embedding inputs, as queries and documents of a
 * reranking, and as search queries. Each text is a line of a table.
 */

t.setTimeout(testFileMsMax);
const { api } = await joinSmallServer();
const collection_name = 'odd';
await api.call('collections/add-collection', { collection_name });
await api.add(collection_name, 'herring', 'The herring swims in the sea.');

const texts: Readonly<Record<string, string>> = {
  nothing: '',
  'blanks of all kinds': ' \t\r\n\u00a0\u2003\u3000\ufeff',
  'control characters': '\u0000\u0001\u0008\u001b[31m\u001f\u007f\u0085\u2028',
  'a NUL in a word': 'her\u0000ring',
  'directions and joiners': '\u202eherring\u202c\u200d\u200c\u2066\u2069',
  'a half of a pair': '\ud800',
  'halves in the wrong order': 'her\udc00\ud800ring',
  cuneiform: '𒀭𒈹𒀭𒂗𒆤',
  'unassigned characters': '\ue000\u{f0000}\u{10ffff}\uffff',
  'emoji of many parts': '👩‍👩‍👧‍👦🏳️‍🌈🇳🇴'.repeat(20),
  'marks upon marks': `h${'\u0301'.repeat(500)}erring`,
  'one long word': 'x'.repeat(4_000),
  punctuation: '!?.,;:-_()[]{}<>/\\|"\'`~@#$%^&*+='.repeat(50),
  digits: '0123456789'.repeat(300),
  'Thai without spaces': 'ปลาเฮอริ่งว่ายน้ำในทะเล'.repeat(60),
  'every script at once': 'herring сельдь الرنجة हेरिंग 鯡 ニシン 청어 ρέγκα הרינג',
};

const inRange = (score: number) => score >= 0 && score <= 1;

for (const [name, text] of Object.entries(texts)) {
  await t.test(name, async (t) => {
    for (const input_type of ['query', 'document'] as const) {
      const input = [text, 'herring', text];
      const { results } = await api.call('models/embed', {
        model: 'zembed-1',
        input_type,
        input,
        dimensions: 80,
      });
      const vectors = results.map(({ embedding }) => embedding as number[]);
      for (const vector of vectors) {
        t.equal(vector.length, 80);
        const square = vector.reduce((sum, x) => sum + x * x, 0);
        t.ok(Math.abs(square - 1) < 1e-4 || square === 0, 'length one, or all zeros');
      }
      t.same(vectors[0], vectors[2], 'one text has one vector');
    }
    for (const [query, documents] of [
      [text, ['The herring swims.', text]],
      ['herring', [text, 'The herring swims.', text]],
    ] as const) {
      const { results } = await api.call('models/rerank', { model: 'zerank-2', query, documents });
      t.equal(results.length, documents.length);
      t.ok(results.every(({ relevance_score }) => inRange(relevance_score)));
    }
    for (const granularity of ['documents', 'pages', 'snippets']) {
      for (const latency_mode of ['low', 'high']) {
        const queryRequest = {
          collection_name,
          query: text,
          k: 3,
          reranker: 'zerank-2',
          latency_mode,
          explain: true,
        };
        const reply = await api.request(`queries/top-${granularity}`, queryRequest);
        t.equal(reply.status, 200, `top-${granularity}, ${latency_mode}`);
        const { results } = reply.body as { results: { score: number }[] };
        t.ok(results.every(({ score }) => inRange(score)));
      }
    }
  });
}

await t.test(
  'text is embedded and reranked up to the limit, and rejected above it with its size',
  async (t) => {
    const embed = (input: unknown) =>
      api.request('models/embed', { model: 'zembed-1', input_type: 'document', input });
    for (const [name, text] of [
      ['one word', 'x'.repeat(4_900_000)],
      ['blanks', ' '.repeat(4_900_000)],
      ['words', 'herring '.repeat(612_000)],
      ['Chinese', '鯡'.repeat(1_600_000)],
    ] as const) {
      t.equal((await embed(text)).status, 200, `almost 5,000,000 bytes: ${name}`);
    }
    const refused = [
      ['one text of 5 MB', 'x'.repeat(5_000_000)],
      ['60,000 inputs of one character', Array(60_000).fill('x')],
    ] as const;
    for (const [name, input] of refused) {
      const { status, body } = await embed(input);
      t.equal(status, 413, name);
      t.match(body, { detail: /5000000|at most 2048 texts/ }, `${name}: the limit is named`);
    }
    const many = Array.from({ length: 30_000 }, (_, i) => String.fromCharCode(97 + (i % 26)));
    const embedded = await api.call('models/embed', {
      model: 'zembed-1',
      input_type: 'document',
      input: many,
      dimensions: 40,
    });
    t.equal(embedded.results.length, many.length);
    t.same(embedded.results[0], embedded.results[26], 'in the order of the texts');
    const reranked = await api.call('models/rerank', { model: 'zerank-2', query: 'a', documents: many });
    t.equal(reranked.results.length, many.length);
    const tooMany = { model: 'zerank-2', query: 'a', documents: Array(60_000).fill('x') };
    const { status, body } = await api.request('models/rerank', tooMany);
    t.equal(status, 413);
    t.match(body, { detail: /5000000|at most 2048 texts/ });
  },
);

await t.test('errors name the invalid value', async (t) => {
  const embed = { model: 'zembed-1', input_type: 'query', input: 'x' };
  const rerank = { model: 'zerank-2', query: 'x', documents: ['y'] };
  const query = { collection_name, query: 'x', k: 3 };
  const wrong: readonly [string, object, number, RegExp][] = [
    ['models/embed', { ...embed, dimensions: 0 }, 400, /dimensions/],
    ['models/embed', { ...embed, dimensions: -80 }, 400, /dimensions/],
    ['models/embed', { ...embed, dimensions: 81 }, 400, /81 dimensions.*80, 40/],
    ['models/embed', { ...embed, dimensions: 1e15 }, 400, /dimensions/],
    ['models/embed', { ...embed, dimensions: 80.5 }, 422, /dimensions/],
    ['models/embed', { ...embed, dimensions: '80' }, 422, /dimensions/],
    ['models/embed', { ...embed, input: ['x', null] }, 422, /input/],
    ['models/embed', { ...embed, input: [['x']] }, 422, /input/],
    ['models/embed', { ...embed, input: 5 }, 422, /input/],
    ['models/embed', { ...embed, input_type: 'passage' }, 422, /input_type/],
    ['models/embed', { ...embed, model: 'herring' }, 404, /herring.*zembed-1/],
    ['models/rerank', { ...rerank, documents: 'y' }, 422, /documents/],
    ['models/rerank', { ...rerank, documents: ['y', 5] }, 422, /documents/],
    ['models/rerank', { ...rerank, query: ['x'] }, 422, /query/],
    ['models/rerank', { ...rerank, top_n: 0 }, 400, /top_n/],
    ['models/rerank', { ...rerank, model: 'zembed-1' }, 404, /zembed-1.*zerank-2/],
    ['queries/top-snippets', { ...query, query: 'é'.repeat(4_097) }, 400, /4,?096/],
    ['queries/top-pages', { ...query, query: ['x'] }, 422, /query/],
    ['queries/top-documents', { ...query, reranker: 'herring' }, 404, /herring.*zerank-2/],
  ];
  for (const [operation, body, status, detail] of wrong) {
    const reply = await api.request(operation, body);
    const name = `${operation} ${JSON.stringify(body).slice(0, 90)}`;
    t.equal(reply.status, status, name);
    t.match(JSON.stringify(reply.body), detail, `the detail of ${name}`);
  }
  t.equal((await api.request('queries/top-snippets', { ...query, query: '🐟'.repeat(4_096) })).status, 200);
});
