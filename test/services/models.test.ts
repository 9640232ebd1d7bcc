import { ModelAdmission } from '../../src/admission/model-admission.ts';
import type { OrganizationLimits } from '../../src/admission/tiers.ts';
import { AppError } from '../../src/core/app-error.ts';
import { toDimensions } from '../../src/models/dimensions.ts';
import type { OrganizationPrincipal } from '../../src/schemas/principal.ts';
import type { ServiceCall } from '../../src/services/call.ts';
import { CohereServices } from '../../src/services/cohere.ts';
import { type ModelExecutor, type ModelLookup, ModelService } from '../../src/services/models.ts';
import { OpenAiServices } from '../../src/services/openai.ts';
import type { EmbedUsageEvent } from '../../src/usage/usage-events.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { publishedTiers } from '../admission/tiers.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

const noQueries = { topSnippets: () => Promise.reject(new Error('no model call searches')) };
const offered = [2560, 1280, 640, 320, 160, 80, 40];
const unlimited: OrganizationLimits = {
  ...publishedTiers.enterprise,
  bytesPerRequestMax: 5_000_000,
  metadataBytesMax: 65_535,
};
const free: OrganizationLimits = {
  ...publishedTiers.free,
  bytesPerRequestMax: 5_000_000,
  metadataBytesMax: 65_535,
};

/** Deterministic model with 320 dimensions: a vector depends only on the length of the text and the input type. */
class FakeModelRunner implements ModelExecutor {
  readonly calls: { readonly texts: number; readonly priority: string; readonly model: string }[] = [];
  readonly #time: FakeClock;

  constructor(time: FakeClock) {
    this.#time = time;
  }

  async embed(
    texts: readonly string[],
    inputType: 'query' | 'document',
    { priority, model }: { readonly priority: 'fast' | 'slow'; readonly model: string },
  ) {
    this.calls.push({ texts: texts.length, priority, model });
    await this.#time.advance(20);
    const vectors = new Float32Array(texts.length * 320);
    texts.forEach((text, i) => {
      const at = i * 320 + (text.length % 20) + (inputType === 'query' ? 20 : 0);
      vectors[at] = 0.6;
      vectors[at + 250 - (at % 320)] = 0.8;
    });
    return { vectors, dimensions: 320, tokens: texts.length * 3, inferenceMs: 15 };
  }

  async rerank(
    model: string,
    query: string,
    documents: readonly string[],
    { priority }: { readonly priority: 'fast' | 'slow' },
  ) {
    this.calls.push({ texts: documents.length, priority, model });
    await this.#time.advance(20);
    const scores = Float32Array.from(documents, (text) => (text.includes(query) ? text.length / 100 : 0));
    return { scores, tokens: documents.length * 5, inferenceMs: 500 };
  }
}

const modelLookup: ModelLookup = {
  list: () => {
    throw new Error('no test lists the models');
  },
  describe: async () => [],
  resolveDimensions: (model, requestedDimensions) => {
    if (model !== 'zembed-1') throw new AppError('not_found', 'the ids are zembed-1');
    if (requestedDimensions !== null && !offered.includes(requestedDimensions))
      throw new AppError('bad_request', 'not offered');
    return requestedDimensions ?? 2560;
  },
  defaultReranker: 'zerank-2',
  checkEmbedding: () => {},
  checkReranker: () => {},
  describeEmbedding: (model) => `${model}@1`,
  describeReranker: (model) => {
    if (model.startsWith('zerank-')) return `${model}@1`;
    throw new AppError('not_found', 'the ids are zerank-1, zerank-2');
  },
  isSubstitute: () => false,
  toDimensions: (_model, vector, dimensions) => toDimensions(vector, dimensions),
};

function build(organization: OrganizationLimits = unlimited) {
  const time = new FakeClock();
  const modelRunner = new FakeModelRunner(time);
  const yieldChecks = { count: 0 };
  const facts: (EmbedUsageEvent & { kind: string; documents?: number; inferenceMs?: number })[] = [];
  const gate = new ModelAdmission({ limitsOf: () => organization, clock: time, timer: time });
  const service = new ModelService({
    executor: modelRunner,
    admission: gate,
    clock: time,
    meter: {
      recordEmbed: (fact) => facts.push({ kind: 'embed', ...fact }),
      recordRerank: (fact) => facts.push({ kind: 'rerank', ...fact }),
    },
    modelLookup,
  });
  const call = (signal = new AbortController().signal): ServiceCall<OrganizationPrincipal> => ({
    principal: {
      kind: 'organization',
      organizationId: 'one',
      keyId: 'k',
      permission: 'read_only',
      zdr: false,
    },
    requestId: 'request-1',
    baseUrl: 'http://127.0.0.1',
    receivedAt: time.monotonic(),
    yieldToEventLoop: () => {
      yieldChecks.count += 1;
      return null;
    },
    address: () => '192.0.2.1',
    now: () => Date.now(),
    cancellation: cancellationTokenWith(signal),
  });
  const openAi = new OpenAiServices({ models: service, queries: noQueries });
  const cohere = new CohereServices(service);
  return {
    time,
    modelRunner,
    facts,
    service,
    openAi,
    cohere,
    call,
    yieldChecks,
  };
}

const embedRequest = { model: 'zembed-1', input_type: 'document' } as const;
const rerankRequest = { model: 'zerank-2', query: 'fee' } as const;

async function rejectionOf(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => new Error('an error was expected'),
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw error;
}

t.test('vectors and ranked texts are converted in turns of the event loop', async (t) => {
  const { service, openAi, cohere, call, yieldChecks } = build();
  const texts = Array.from({ length: 40 }, (_, i) => `text ${i}`);
  const checksOf = async (work: () => Promise<unknown>) => {
    yieldChecks.count = 0;
    await work();
    return yieldChecks.count;
  };
  const { input_type, ...openAiRequest } = { ...embedRequest, input: texts };
  t.ok((await checksOf(() => service.embed(call(), { ...openAiRequest, input_type }))) >= 2 * texts.length);
  t.ok((await checksOf(() => openAi.openAiEmbeddings(call(), openAiRequest))) >= 2 * texts.length);
  t.ok((await checksOf(() => cohere.cohereRerank(call(), { ...rerankRequest, documents: texts }))) >= 40);
});

function numbers(embedding: number[] | string): number[] {
  if (typeof embedding !== 'string') return embedding;
  const bytes = Buffer.from(embedding, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}

t.test(
  'embed returns one vector of unit length per text, in order, for each supported dimension',
  async (t) => {
    const { service, call } = build();
    const input = ['a', 'bb', '', 'dddd'];
    for (const dimensions of [undefined, null, ...offered]) {
      const reply = await service.embed(call(), {
        ...embedRequest,
        input,
        ...(dimensions === undefined ? {} : { dimensions }),
      });
      t.equal(reply.results.length, 4);
      reply.results.forEach((result, i) => {
        const vector = numbers(result.embedding);
        t.equal(vector.length, dimensions ?? 2560);
        const strongest = vector.indexOf(Math.max(...vector.slice(0, 40)));
        t.equal(strongest, input[i]?.length, `the vector of text ${i}`);
        t.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-6);
      });
    }
  },
);

t.test('float and base64 contain the same numbers', async (t) => {
  const { service, call } = build();
  const request = { ...embedRequest, input: ['some text'], dimensions: 160 };
  const float = await service.embed(call(), { ...request, encoding_format: 'float' });
  const unsaid = await service.embed(call(), request);
  const base64 = await service.embed(call(), { ...request, encoding_format: 'base64' });
  const text = base64.results[0]?.embedding ?? '';
  t.type(text, 'string');
  t.same(numbers(text), float.results[0]?.embedding);
  t.same(unsaid, float);
});

t.test('the same text as query and as document gives different vectors', async (t) => {
  const { service, call } = build();
  const [query, document] = await Promise.all([
    service.embed(call(), { ...embedRequest, input: 'x', input_type: 'query' }),
    service.embed(call(), { ...embedRequest, input: 'x' }),
  ]);
  t.notSame(query.results, document.results);
});

t.test('a single string is one text, an empty string is a text, an empty list has no texts', async (t) => {
  const { service, call, modelRunner } = build();
  t.match(await service.embed(call(), { ...embedRequest, input: '' }), {
    results: { length: 1 },
    usage: { total_bytes: 150, total_tokens: 3 },
  });
  const callCount = modelRunner.calls.length;
  t.same(await service.embed(call(), { ...embedRequest, input: [] }), {
    results: [],
    usage: { total_bytes: 0, total_tokens: 0 },
  });
  t.match(await service.rerank(call(), { ...rerankRequest, documents: [] }), {
    results: [],
    total_bytes: 0,
    total_tokens: 0,
  });
  t.equal(modelRunner.calls.length, callCount, 'no model runs');
});

t.test('charged bytes: 150 and the text for embed; 150, the query and the text for rerank', async (t) => {
  const { service, call } = build();
  const embedded = await service.embed(call(), { ...embedRequest, input: ['ü', 'abc'] });
  t.same(embedded.usage, { total_bytes: 2 * 150 + 2 + 3, total_tokens: 6 });
  const ranked = await service.rerank(call(), { ...rerankRequest, query: 'né', documents: ['ü', 'abc'] });
  t.match(ranked, { total_bytes: 2 * (150 + 3) + 2 + 3, total_tokens: 10 });
});

t.test('rerank returns best first, equal scores in input order, at most top_n', async (t) => {
  const { service, call } = build();
  const documents = ['none', 'a fee', 'no', 'a much longer fee', 'the fee'];
  const order = async (top_n?: number | null) => {
    const reply = await service.rerank(call(), {
      ...rerankRequest,
      documents,
      ...(top_n === undefined ? {} : { top_n }),
    });
    return reply.results.map((result) => result.index);
  };
  t.same(await order(), [3, 4, 1, 0, 2]);
  t.same(await order(null), [3, 4, 1, 0, 2]);
  t.same(await order(2), [3, 4]);
  t.same(await order(99), [3, 4, 1, 0, 2]);
});

t.test(
  'rerank reports its latency mode and times in seconds, and the model time never exceeds the total',
  async (t) => {
    const { service, call } = build();
    const reply = await service.rerank(call(), { ...rerankRequest, documents: ['a'] });
    t.match(reply, { actual_latency_mode: 'fast', e2e_latency: 0.02, inference_latency: 0.02 });
    const slow = await service.rerank(call(), { ...rerankRequest, documents: ['a'], latency: 'slow' });
    t.match(slow, { actual_latency_mode: 'slow' });
  },
);

t.test('slow calls run with low priority, others with the priority of fast work', async (t) => {
  const { service, call, modelRunner } = build();
  await service.embed(call(), { ...embedRequest, input: 'x', latency: 'slow' });
  await service.embed(call(), { ...embedRequest, input: 'x', latency: 'fast' });
  await service.embed(call(), { ...embedRequest, input: 'x', latency: null });
  t.same(
    modelRunner.calls.map((run) => run.priority),
    ['slow', 'fast', 'fast'],
  );
});

t.test('a call over the fast limit runs slow, and after that limit too it gets 429', async (t) => {
  const { service, call } = build(free);
  const documents = (bytes: number) => ['x'.repeat(bytes - 150)];
  const request = (bytes: number) => ({ ...rerankRequest, query: '', documents: documents(bytes) });
  t.match(await service.rerank(call(), request(500_000)), { actual_latency_mode: 'fast' });
  t.match(await service.rerank(call(), request(5_000_000)), { actual_latency_mode: 'slow' });
  t.match(await rejectionOf(service.rerank(call(), { ...request(200), latency: 'fast' })), { status: 429 });
  t.match(await rejectionOf(service.rerank(call(), request(4_000_000))), { status: 429 });
});

t.test('more than 5,000,000 charged bytes are a 413, exactly 5,000,000 are not', async (t) => {
  const { service, call, facts } = build();
  const fits = await service.embed(call(), {
    ...embedRequest,
    input: ['x'.repeat(4_999_850)],
    dimensions: 40,
  });
  t.equal(fits.usage.total_bytes, 5_000_000);
  const tooLarge = service.embed(call(), { ...embedRequest, input: ['x'.repeat(4_999_851)] });
  t.match(await rejectionOf(tooLarge), { status: 413, message: /5000001 bytes.*limit per call is 5000000/ });
  t.equal(facts.length, 1, 'the call is not counted');
});

t.test('vectors above the reply limit are a 413 with the maximum number', async (t) => {
  const { service, call, modelRunner } = build();
  const many = Array<string>(2_049).fill('');
  const rejection = await rejectionOf(service.embed(call(), { ...embedRequest, input: many }));
  t.match(rejection, { status: 413, message: /at most 2048 texts/ });
  t.equal(modelRunner.calls.length, 0);
  const reply = await service.embed(call(), { ...embedRequest, input: many, dimensions: 40 });
  t.equal(reply.results.length, 2_049);
  t.ok(
    modelRunner.calls.every((run) => run.texts <= 1_024),
    'long lists run in parts',
  );
});

t.test('an unknown model is a 404, an unsupported dimension a 400', async (t) => {
  const { service, call } = build();
  const embed = (more: object) =>
    rejectionOf(service.embed(call(), { ...embedRequest, input: 'x', ...more }));
  t.match(await embed({ model: 'zerank-2' }), { status: 404, message: /zembed-1/ });
  t.match(await embed({ dimensions: 41 }), { status: 400 });
  const rerank = service.rerank(call(), { ...rerankRequest, model: 'zembed-1', documents: ['x'] });
  t.match(await rejectionOf(rerank), { status: 404, message: /zerank-1/ });
});

t.test('every call is counted with its bytes, tokens and times', async (t) => {
  const { service, call, facts } = build();
  await service.embed(call(), { ...embedRequest, input: ['abc'] });
  await service.rerank(call(), { ...rerankRequest, documents: ['a', 'b'] });
  const common = { organizationId: 'one', explicitCall: true, timeTakenMs: 20 };
  t.same(facts, [
    { kind: 'embed', ...common, model: 'zembed-1', bytes: 153, tokens: 3 },
    { kind: 'rerank', ...common, model: 'zerank-2', bytes: 308, tokens: 10, documents: 2, inferenceMs: 20 },
  ]);
});

t.test('a disconnected caller gets no further batch', async (t) => {
  const { service, call, modelRunner, facts } = build();
  const controller = new AbortController();
  const work = service.embed(call(controller.signal), {
    ...embedRequest,
    input: Array<string>(3_000).fill('x'),
    dimensions: 40,
  });
  await Promise.resolve();
  controller.abort(new AppError('unavailable', 'The client disconnected.'));
  t.equal((await rejectionOf(work)).message, 'The client disconnected.');
  t.ok(modelRunner.calls.length <= 1);
  t.same(facts, []);
});

t.test('replies have the OpenAI format, and texts are documents by default', async (t) => {
  const { service, openAi, call } = build();
  const request = { model: 'zembed-1', input: ['a', 'bb'], dimensions: 80 };
  const reply = await openAi.openAiEmbeddings(call(), request);
  const ours = await service.embed(call(), { ...embedRequest, ...request });
  t.same(reply, {
    object: 'list',
    data: ours.results.map(({ embedding }, index) => ({ object: 'embedding', index, embedding })),
    model: 'zembed-1',
    usage: { prompt_tokens: 6, total_tokens: 6 },
  });
  const query = await openAi.openAiEmbeddings(call(), {
    ...request,
    input: 'a',
    input_type: 'query',
    encoding_format: 'base64',
  });
  const asQuery = await service.embed(call(), {
    ...embedRequest,
    ...request,
    input: 'a',
    input_type: 'query',
  });
  t.same(numbers(query.data[0]?.embedding ?? ''), asQuery.results[0]?.embedding);
});

t.test('replies have the Cohere format, for strings or objects, with or without texts', async (t) => {
  const { cohere, call } = build();
  const documents = ['none', { text: 'a fee' }];
  const request = { model: 'zerank-2', query: 'fee', documents };
  const best = { index: 1, relevance_score: Math.fround(0.05) };
  t.same(await cohere.cohereRerank(call(), request), {
    id: 'request-1',
    results: [best, { index: 0, relevance_score: 0 }],
    meta: { api_version: { version: '2' }, billed_units: { search_units: 1 }, tokens: { input_tokens: 10 } },
    model: 'zerank-2',
    object: 'list',
    usage: { total_tokens: 10 },
  });
  const withText = await cohere.cohereRerank(call(), { ...request, return_documents: true, top_n: 1 });
  t.same(withText.results, [{ ...best, document: { text: 'a fee' } }]);
  const long = await cohere.cohereRerank(call(), { ...request, documents: Array<string>(101).fill('x') });
  t.equal(long.meta.billed_units.search_units, 2);
});
