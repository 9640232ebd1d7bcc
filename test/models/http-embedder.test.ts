import { createServer } from 'node:net';
import { AppError } from '../../src/core/app-error.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { ModelUnavailableError } from '../../src/core/model-unavailable-error.ts';
import { HttpEmbedder, type HttpEmbedderOptions } from '../../src/models/http-embedder.ts';
import { HttpReranker, type HttpRerankerOptions } from '../../src/models/http-reranker.ts';
import {
  ModelProvider,
  type ModelProviderOptions,
  type RequestOutcome,
} from '../../src/models/model-provider.ts';
import { localEgress } from '../local-egress.ts';
import t, { type Test } from '../support/tap.ts';
import { testEventMsMax, waitUntil } from '../timeouts.ts';
import {
  FakeModelService,
  letterVectorOf,
  longTextUnits,
  type ServiceBehavior,
  serviceDimensions,
} from './fake-model-service.ts';

interface ServiceFixture {
  readonly service: FakeModelService;
  readonly provider: ModelProvider;
  readonly embedder: HttpEmbedder;
  readonly reranker: HttpReranker;
  readonly outcomes: RequestOutcome[];
  readonly logged: string[];
}

interface FixtureOptions {
  readonly provider?: Partial<ModelProviderOptions>;
  readonly embedder?: Partial<HttpEmbedderOptions>;
  readonly reranker?: Partial<HttpRerankerOptions>;
}

const key = 'sk-secret-of-the-service';
const noFrame = { prefix: '', suffix: '' };

async function createFixture(t: Test, fields: FixtureOptions = {}): Promise<ServiceFixture> {
  const service = await FakeModelService.start(t);
  const outcomes: RequestOutcome[] = [];
  const logged: string[] = [];
  const note = (entry: object) => void logged.push(JSON.stringify(entry));
  const of = (url: string) =>
    new ModelProvider({
      model: 'theirs',
      urls: [url],
      key,
      documentMsMax: testEventMsMax,
      queryMsMax: testEventMsMax,
      hedgeMs: 0,
      requestsMax: 3,
      fetch: localEgress.fetch,
      clock: systemClock,
      random: () => 0.1,
      mayLogReply: () => true,
      onRecovered: () => {},
      logger: { ...silentLogger, debug: note, info: note, warn: note, error: note },
      observe: (outcome) => void outcomes.push(outcome),
      ...fields.provider,
    });
  const provider = of(`${service.url}/embeddings`);
  const batch = { batchTextsMax: 8, batchUnitsMax: 2_000, textUnitsMax: 1_000 };
  const embedder = new HttpEmbedder({
    provider,
    dimensions: null,
    width: null,
    inputTypeField: 'none',
    encoding: 'float',
    frames: { query: noFrame, document: noFrame },
    addsSpecialTokens: true,
    shortening: 'prefix',
    ...batch,
    ...fields.embedder,
  });
  const reranker = new HttpReranker({
    provider: of(`${service.url}/rerank`),
    dialect: 'cohere',
    scores: 'probability',
    logitScale: 1,
    template: null,
    ...batch,
    ...fields.reranker,
  });
  return { service, provider, embedder, reranker, outcomes, logged };
}

/** Properties of a ModelUnavailable error. */
const modelUnavailable = { model: 'theirs', code: 'unavailable' };
const normal = { urgent: false };
const urgent = { urgent: true };

function toUnitVector(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

function checkNear(t: Test, actual: Float32Array, expected: readonly number[], what: string): void {
  const most = Math.max(...expected.map((component, i) => Math.abs(component - actual[i]!)));
  t.ok(actual.length === expected.length && most < 1e-5, `${what}: off by ${most}`);
}

const words = ['herring', 'salt', 'cellar', 'barrel', 'harbour', 'gull', 'net', 'boat', 'anchor', 'tide'];
const texts = Array.from({ length: 60 }, (_, i) => `${words[i % 10]} ${words[(i * 7 + 3) % 10]} ${i}`);

t.test(
  'vectors are returned in the order of the texts, with length one, in bounded concurrent requests',
  async (t) => {
    const { service, embedder } = await createFixture(t);
    service.setBehavior('slow');
    const { vectors, tokens } = await embedder.embed(texts, 'document', normal);
    checkNear(
      t,
      vectors,
      texts.flatMap((text) => toUnitVector(letterVectorOf(text))),
      'all texts have a vector',
    );
    t.equal(tokens, 3 * texts.length, 'the number of tokens is that of the service');
    t.ok(service.requests.every(({ texts: sent }) => sent.length <= 8));
    t.ok(service.requests.length >= 8 && service.requests.length <= 9, `${service.requests.length} requests`);
    t.equal(service.runningRequestsMax, 2, 'one of three requests is reserved for queries');
    t.ok(service.requests.every(({ authorization }) => authorization === `Bearer ${key}`));
    t.match(service.requests[0]?.body, { model: 'theirs', encoding_format: 'float' });
  },
);

t.test('texts of several callers share requests', async (t) => {
  const { service, embedder } = await createFixture(t);
  service.setBehavior('slow');
  const answers = await Promise.all(texts.map((text) => embedder.embed([text], 'document', normal)));
  for (const [i, { vectors }] of answers.entries())
    checkNear(t, vectors, toUnitVector(letterVectorOf(texts[i]!)), texts[i]!);
  t.ok(service.requests.length < 15, `${service.requests.length} requests for ${texts.length} callers`);
});

t.test('a query overtakes waiting documents', async (t) => {
  const { service, embedder } = await createFixture(t);
  service.setBehavior('slow');
  const documents = embedder.embed(texts, 'document', normal);
  await embedder.embed(['gull'], 'query', urgent);
  t.ok(service.requests.length <= 5, `${service.requests.length} requests preceded its reply`);
  await documents;
});

t.test('prefixes, kinds of input, base64, fewer dimensions', async (t) => {
  const { service, embedder } = await createFixture(t, {
    embedder: {
      frames: { query: { ...noFrame, prefix: 'query: ' }, document: { prefix: 'passage: ', suffix: '</s>' } },
      addsSpecialTokens: false,
      inputTypeField: 'jina',
      encoding: 'base64',
      dimensions: 5,
    },
  });
  service.encoding = 'base64';
  t.equal(await embedder.dimensions(), 5);
  const { vectors } = await embedder.embed(['herring'], 'query', normal);
  checkNear(t, vectors, toUnitVector(letterVectorOf('query: herring').slice(0, 5)), 'a prefix of the vector');
  await embedder.embed(['salt'], 'document', normal);
  t.match(service.requests[0]?.body, {
    input: ['query: herring'],
    task: 'retrieval.query',
    encoding_format: 'base64',
    add_special_tokens: false,
  });
  t.match(service.requests[1]?.body, { input: ['passage: salt</s>'], task: 'retrieval.passage' });
  for (const [field, sent] of [
    ['voyage', { input_type: 'query' }],
    ['cohere', { input_type: 'search_query' }],
  ] as const) {
    const other = await createFixture(t, { embedder: { inputTypeField: field } });
    await other.embedder.embed(['x'], 'query', normal);
    t.match(other.service.requests[0]?.body, sent, field);
  }
});

t.test(
  'texts that services reject are adapted: blank, too long, half a character, control characters',
  async (t) => {
    const { service, embedder } = await createFixture(t);
    const odd = ['', ' \n\t', '\ud800 lone', 'a\u0000b\u0007', `${'long '.repeat(1_000_000)}`, 'ok'];
    const { vectors } = await embedder.embed(odd, 'document', normal);
    t.equal(vectors.length, odd.length * serviceDimensions);
    t.ok(vectors.every(Number.isFinite));
    const sent = service.requests.flatMap(({ texts: all }) => all);
    t.same(
      sent.filter((text) => text.trim() === ''),
      [],
      'blank texts are not sent',
    );
    t.ok(sent.every((text) => text.length <= 1_000 && text.isWellFormed()));
    t.same((await embedder.embed([], 'query', urgent)).vectors.length, 0);
    const many = Array.from({ length: 10_000 }, () => 'x');
    t.equal((await embedder.embed(many, 'document', normal)).vectors.length, many.length * serviceDimensions);
  },
);

const passing: readonly ServiceBehavior[] = [
  ...(['hang', 'error', 'too-few', 'same-index', 'short-vectors', 'nan', 'zero'] as const),
  ...(['truncated', 'not-json', 'closed', 'huge', 'no-list'] as const),
];

for (const behavior of passing) {
  t.test(`a request that fails once is retried: ${behavior}`, async (t) => {
    const bounds = behavior === 'hang' ? { provider: { documentMsMax: 3_000 } } : {};
    const { service, embedder, outcomes, provider } = await createFixture(t, bounds);
    await embedder.embed(['first'], 'document', normal);
    service.setBehavior(behavior, 1);
    const { vectors } = await embedder.embed(['herring', 'salt'], 'document', normal);
    checkNear(
      t,
      vectors,
      ['herring', 'salt'].flatMap((text) => toUnitVector(letterVectorOf(text))),
      behavior,
    );
    t.same(outcomes, ['answered', 'failed', 'answered']);
    t.equal(provider.health.lastError, null, 'the error is cleared');
  });

  t.test(`a permanently failing service is reported: ${behavior}`, async (t) => {
    const bounds = behavior === 'hang' ? { provider: { documentMsMax: 600, queryMsMax: 600 } } : {};
    const { service, embedder } = await createFixture(t, bounds);
    await embedder.embed(['first'], 'document', { urgent: false });
    service.setBehavior(behavior);
    for (const how of [normal, urgent]) {
      const error = await embedder
        .embed(['herring', 'salt'], 'document', how)
        .catch((reason: unknown) => reason);
      t.ok(error instanceof ModelUnavailableError, String(error));
      t.ok((error as ModelUnavailableError).options.retryAfterMs! >= 1_000);
    }
  });
}

t.test('replies in another order are sorted', async (t) => {
  const { service, embedder } = await createFixture(t);
  service.setBehavior('reversed');
  const { vectors } = await embedder.embed(words, 'document', normal);
  checkNear(
    t,
    vectors,
    words.flatMap((text) => toUnitVector(letterVectorOf(text))),
    'in order',
  );
});

t.test('a busy service receives no requests for the time that it specifies', async (t) => {
  const { service, embedder, outcomes, provider } = await createFixture(t, { provider: { queryMsMax: 500 } });
  service.retryAfter = '3';
  service.setBehavior('busy', 1);
  const waiting = embedder.embed(['herring'], 'document', normal);
  await waitUntil('the first reply', () => outcomes.length > 0);
  const error = await embedder.embed(['gull'], 'query', urgent).catch((reason: unknown) => reason);
  t.ok(error instanceof ModelUnavailableError, 'a query with a shorter deadline fails at once');
  t.equal(service.requests.length, 1, 'nothing is sent meanwhile');
  await waiting;
  t.same(outcomes, ['busy', 'answered']);
  t.equal(provider.health.state, 'closed', 'a busy service is not a failure');
});

t.test(
  'the breaker opens, lets one request through after a delay, and closes when that succeeds',
  async (t) => {
    let now = 0;
    const clock = { now: () => 0, monotonic: () => now };
    const { service, embedder, provider } = await createFixture(t, {
      provider: { clock, queryMsMax: 100_000 },
    });
    service.setBehavior('closed');
    await t.rejects(embedder.embed(['a'], 'document', normal), modelUnavailable);
    await t.rejects(embedder.embed(['a'], 'document', normal), modelUnavailable);
    t.match(provider.health, { state: 'open', lastError: 'no connection' });
    const requestCount = service.requests.length;
    for (let i = 0; i < 20; i += 1) await t.rejects(embedder.embed(['a'], 'query', urgent), modelUnavailable);
    t.throws(() => provider.checkAvailable(), modelUnavailable);
    t.equal(service.requests.length, requestCount, 'nothing is sent while it is open');
    now += 60_000;
    t.equal(provider.health.state, 'half-open');
    provider.checkAvailable();
    service.setBehavior('slow');
    const probes = await Promise.allSettled([
      embedder.embed(['a'], 'document', normal),
      embedder.embed(['b'], 'query', urgent),
    ]);
    t.same(probes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'one of two is the probe');
    t.equal(service.requests.length, requestCount + 1);
    t.match(provider.health, { state: 'closed', lastError: null });
    await embedder.embed(['a'], 'document', normal);
  },
);

t.test('an invalid key fails at once and is never logged', async (t) => {
  const { service, embedder, outcomes, logged } = await createFixture(t);
  for (const behavior of ['unauthorized', 'redirect'] as const) {
    service.setBehavior(behavior);
    const error = await embedder.embed(['a'], 'document', normal).catch((reason: unknown) => reason);
    t.match(error, { message: behavior === 'redirect' ? /./ : /HTTP status 401/ });
    t.notMatch(JSON.stringify(error) + String(error), /sk-secret/);
  }
  t.equal(outcomes.length, 1, 'a retry does not help');
  t.ok(logged.length > 0);
  t.notMatch(logged.join('\n'), /sk-secret/);
});

t.test('a rejected text fails its own call only', async (t) => {
  const { service, embedder } = await createFixture(t);
  service.setBehavior('refuse-long');
  const calls = [...words, 'x'.repeat(longTextUnits + 1)].map((text) =>
    embedder.embed([text], 'document', normal),
  );
  const answers = await Promise.allSettled(calls);
  t.same(
    answers.map(({ status }) => status),
    [...words.map(() => 'fulfilled'), 'rejected'],
  );
  const { reason } = answers.at(-1) as PromiseRejectedResult;
  t.ok(reason instanceof AppError && !(reason instanceof ModelUnavailableError));
  t.match(reason, { code: 'bad_request', message: /rejected the text: HTTP status 413/ });
});

t.test('a service that does not listen', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const { embedder } = await createFixture(t, {
    provider: { urls: [`http://127.0.0.1:${port}/v1/embeddings`] },
  });
  await t.rejects(embedder.embed(['a'], 'query', urgent), { message: /no connection/, status: 503 });
});

t.test('scores are assigned to their texts, in both dialects', async (t) => {
  for (const dialect of ['cohere', 'tei'] as const) {
    const { service } = await createFixture(t);
    const documents = [...texts.slice(0, 20), ''];
    const url = dialect === 'tei' ? `${service.url}/tei/rerank` : `${service.url}/rerank`;
    const fixture = await createFixture(t, { reranker: { dialect }, provider: { urls: [url] } });
    const { scores } = await fixture.reranker.score('herring salt', documents, normal);
    t.equal(scores.length, documents.length);
    for (const [i, document] of documents.entries()) {
      const count = ['herring', 'salt'].filter((word) => document.split(' ').includes(word)).length;
      t.equal(scores[i], Math.fround(count / 3), `${dialect}: ${document}`);
    }
    t.ok(service.requests.every((request) => request.texts.length <= 8));
    t.equal((await fixture.reranker.score('herring', [], urgent)).scores.length, 0);
  }
});

t.test('invalid scores are an error', async (t) => {
  for (const behavior of ['too-few', 'same-index', 'nan', 'zero', 'no-list', 'truncated'] as const) {
    const { service, reranker } = await createFixture(t);
    service.setBehavior(behavior);
    await t.rejects(reranker.score('herring', words, urgent), modelUnavailable, behavior);
  }
  const { service, reranker } = await createFixture(t, { reranker: { scores: 'logit' } });
  service.setBehavior('zero');
  const { scores } = await reranker.score('herring', ['a'], normal);
  t.equal(scores[0], Math.fround(1 / (1 + Math.exp(-7.5))), 'the configuration declares log-odds');
});

t.test('the reply of a service about a text is logged, shortened, unless texts must not be', async (t) => {
  for (const mayLogReply of [true, false]) {
    const { service, embedder, reranker, logged } = await createFixture(t, {
      provider: { mayLogReply: () => mayLogReply },
    });
    service.quotesRequestInErrors = true;
    const text = `xylophonist ${'z'.repeat(2 * longTextUnits)}`;
    const works = [
      () => embedder.embed([text], 'document', urgent),
      () => reranker.score(text, [text], urgent),
    ];
    for (const behavior of ['refuse-long', 'unauthorized'] as const) {
      service.setBehavior(behavior);
      for (const work of works) {
        const error = await work().catch((thrown: AppError) => thrown);
        const output = JSON.stringify([error, (error as AppError).options.privateDetails, logged]);
        t.equal(output.includes('xylophonist'), mayLogReply, `${behavior}: ${output.slice(0, 300)}`);
        t.notMatch(output, /z{600}/);
        t.notMatch(output, key);
      }
    }
  }
});

t.test('onRecovered is called once after a service recovers', async (t) => {
  const recoveries: string[] = [];
  const onRecovered = () => void recoveries.push('back');
  const { service, embedder } = await createFixture(t, { provider: { onRecovered } });
  await embedder.embed(['a'], 'query', urgent);
  service.setBehavior('error');
  await t.rejects(embedder.embed(['b'], 'query', urgent), modelUnavailable);
  t.same(recoveries, []);
  service.setBehavior('well');
  await embedder.embed(['c'], 'query', urgent);
  await embedder.embed(['d'], 'query', urgent);
  t.same(recoveries, ['back']);
});
