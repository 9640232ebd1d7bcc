import t, { type Test } from '../support/tap.ts';
import { FakeServer } from './fake-server.ts';
import { runQuarry } from './quarry.ts';

const citation = {
  number: 2,
  path: 'guides/refunds.pdf',
  page_span: [2, 4],
  start_index: 10,
  end_index: 42,
  content: 'Refunds are paid within 14 days.',
  score: 0.8,
};
const first = { ...citation, number: 1, path: 'a\u001b[31m.txt', page_span: [0, 1] };
const sentences = [
  { text: 'Refunds take 14 days.', citations: [citation] },
  { text: 'They are paid.\u001b[2J', citations: [citation, first] },
];
const reply = {
  answer: 'Refunds take 14 days. They are paid.',
  reason: null,
  sentences,
  num_snippets: 3,
  num_uncited_sentences: 1,
  is_truncated: true,
  model: 'parrot',
  usage: null,
  warnings: ['This result is from lexical search only.'],
};

type Event = readonly [type: string, data: unknown];

async function open(t: Test, events: readonly Event[]) {
  const server = await FakeServer.listen();
  t.teardown(() => server.close());
  const text = events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join('');
  server.intercept = ({ body }) =>
    JSON.parse(String(body)).stream === true
      ? {
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: Buffer.from(`: heartbeat\n\n${text}`),
        }
      : { status: 200, body: reply };
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: 'a-key-of-sixteen-characters' };
  const run = (...words: string[]) =>
    runQuarry(['answer', 'handbook', 'how', 'long?', ...words], { variables });
  return { server, run };
}

t.test('answer prints each sentence with its citations, and then the sources', async (t) => {
  const { server, run } = await open(t, [
    ['sentence', sentences[0]],
    ['sentence', sentences[1]],
    ['answer', reply],
  ]);
  const printed = await run(
    '-k',
    '3',
    '--precise',
    '--filter',
    '{"a": 1}',
    '--reranker',
    'r',
    '--max-tokens',
    '99',
  );
  t.equal(printed.code, 0, printed.err);
  t.equal(
    printed.out,
    'Refunds take 14 days. [2]\nThey are paid.[2J [2][1]\n\n[1] a[31m.txt page 1, characters 10-42\n[2] guides/refunds.pdf pages 3-4, characters 10-42\n',
  );
  t.match(printed.err, /lexical search only.*cite no snippet: 1.*raise --max-tokens/s);
  const options = { filter: { a: 1 }, precise_responses: true, reranker: 'r', max_tokens: 99, stream: true };
  const request = { collection_name: 'handbook', question: 'how long?' };
  t.same(server.bodies('answers'), [{ ...request, k: 3, ...options }]);
  const json = await run('--json');
  t.same(JSON.parse(json.out), reply);
  t.same(server.bodies('answers')[1], { ...request, k: 8 });
});

t.test('answer prints why there is none, and fails with the error of the model', async (t) => {
  for (const [reason, message] of [
    ['no_snippets', /No answer: no snippet/],
    ['no_answer', /No answer: the model found none/],
    ['no_citations', /No answer: no sentence of the model cites a snippet/],
  ] as const) {
    const { run } = await open(t, [['answer', { ...reply, answer: null, reason, sentences: [] }]]);
    t.match(await run(), { code: 0, out: message });
  }
  const failing = await open(t, [
    ['sentence', sentences[0]],
    ['error', { status: 503, detail: 'The model is unavailable.' }],
  ]);
  t.match(await failing.run(), { code: 1, err: /The model is unavailable\./ });
  t.equal(failing.server.requests.length, 1, 'an answer that has begun is not repeated');
  const cut = await open(t, [['sentence', sentences[0]]]);
  t.match(await cut.run(), { code: 1, err: /ended before the answer was complete/ });
  t.match(await cut.run('-k', '33'), { code: 2, err: /-k|--k/ });
  t.match(await cut.run('--max-tokens', '1'), { code: 2, err: /--max-tokens/ });
  t.match(await cut.run('--filter', '[]'), { code: 2, err: /--filter/ });
});
