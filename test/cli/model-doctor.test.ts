import { join } from 'node:path';
import { HttpEmbedder } from '../../src/models/http-embedder.ts';
import { checkEmbedding, embedGoldenTexts } from '../../src/models/service-checks.ts';
import { FakeModelService, serviceDimensions } from '../models/fake-model-service.ts';
import { loadCatalog } from '../models/load-catalog.ts';
import { ToyWeightsService } from '../models/toy-weights-service.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { type CliResult, runQuarry } from './quarry.ts';

/** `quarry models doctor`: right and broken deployments of models. */

t.setTimeout(testFileMsMax);

interface Doctor {
  readonly doctor: (...words: string[]) => Promise<CliResult>;
  /** State of each check, as "model check". */
  readonly states: (...words: string[]) => Promise<Record<string, string>>;
}

function setUp(t: Test, settings: Readonly<Record<string, string>>): Doctor {
  const variables = { QUARRY_DATA: join(t.testdir(), 'data'), ...settings };
  const doctor = (...words: string[]) => runQuarry(['models', 'doctor', ...words], { variables });
  return {
    doctor,
    states: async (...words) => {
      const { out, err } = await doctor('--json', ...words);
      t.equal(err, '');
      const { models } = JSON.parse(out) as {
        models: { model: string; findings: { check: string; state: string }[] }[];
      };
      return Object.fromEntries(
        models.flatMap(({ model, findings }) =>
          findings.map(({ check, state }) => [`${model} ${check}`, state] as const),
        ),
      );
    },
  };
}

/** Counts words of two subjects, and has a component for the prompt. */
function topicVectorOf(text: string): number[] {
  const count = (words: RegExp) => [...text.matchAll(words)].length;
  const counts = [count(/bills|paid/gi), count(/fish|preserved/gi), count(/^query: /g)];
  return Array.from({ length: serviceDimensions }, (_, i) => counts[i] ?? 0.1);
}

function variablesFor(service: FakeModelService) {
  return {
    QUARRY_EMBEDDING_URL: service.url,
    QUARRY_EMBEDDING_MODEL: 'letters',
    QUARRY_EMBEDDING_QUERY_PREFIX: 'query: ',
    QUARRY_RERANK_URL: service.url,
    QUARRY_RERANK_MODEL: 'words',
  };
}

t.test('a right deployment passes, and is compared with its recording', async (t) => {
  const service = await FakeModelService.start(t);
  service.embed = topicVectorOf;
  const { doctor, states } = setUp(t, variablesFor(service));
  const expected = {
    'letters prompts': 'ok',
    'letters meaning': 'ok',
    'letters recording': 'skipped',
    'words meaning': 'ok',
    'words score head': 'ok',
    'words recording': 'skipped',
  };
  t.same(await states(), expected);
  t.match(await doctor('--record'), {
    code: 0,
    out: /Recorded the outputs of letters\.\nRecorded the outputs of words\./,
  });
  t.same(await states(), { ...expected, 'letters recording': 'ok', 'words recording': 'ok' });
  service.embed = (text) => topicVectorOf(text).map((value, i) => value + (i === 3 ? 1 : 0));
  const { code, out } = await doctor();
  t.equal(code, 1);
  t.match(
    out,
    /letters +recording +FAILED +largest distance to the recorded outputs: 0\.\d+, at most 0\.1 is expected/,
  );
  t.match(out, /words +recording +ok/);
});

t.test('broken deployments are named', async (t) => {
  const service = await FakeModelService.start(t);
  const { doctor, states } = setUp(t, variablesFor(service));
  service.embed = (text) => topicVectorOf(text.replace('query: ', ''));
  t.match(await states(), { 'letters prompts': 'failed' });
  service.embed = (text) => topicVectorOf(text.startsWith('query: ') ? 'query: ' : '');
  t.match(await states(), { 'letters meaning': 'failed' });
  t.match(await doctor('--record'), {
    code: 1,
    out: /similarity of related minus unrelated texts: at least/,
  });
  service.embed = topicVectorOf;
  t.match(await states(), { 'letters recording': 'skipped' }, 'outputs that fail a check are not recorded');
  service.score = (score) => 1 / (1 + Math.exp(-score));
  t.match(await doctor(), {
    code: 1,
    out: /words +score head +FAILED.*as if the sigmoid function was applied twice/,
  });
  service.score = (score) => 1 - score;
  t.match(await states(), { 'words meaning': 'failed' });
});

t.test('a changed pooling or an added token of zembed-1 differs from the recording', async (t) => {
  const service = await ToyWeightsService.start(t);
  const model = (await loadCatalog(t, { QUARRY_ZEMBED1_URL: service.url })).getEmbedding('zembed-1');
  const { backend } = model;
  if (!(backend instanceof HttpEmbedder)) throw new Error('zembed-1 is not served over HTTP');
  const recorded = await embedGoldenTexts(model, backend);
  const check = async () => {
    const findings = checkEmbedding(await embedGoldenTexts(model, backend), { hasPrompts: true, recorded });
    return findings.find((finding) => finding.check === 'recording')!.state;
  };
  t.equal(await check(), 'ok');
  service.alwaysAddsToken = true;
  t.equal(await check(), 'failed');
  service.alwaysAddsToken = false;
  service.poolsMean = true;
  t.equal(await check(), 'failed');
  const older = { ...recorded, version: 'older' };
  t.match(checkEmbedding(recorded, { hasPrompts: true, recorded: older }).at(-1), { state: 'skipped' });
});

t.test('without a service, or with one that does not respond, there is an error', async (t) => {
  t.match(await setUp(t, {}).doctor(), { err: /The settings name no embedding or rerank service/ });
  const service = await FakeModelService.start(t);
  const { doctor } = setUp(t, { ...variablesFor(service), QUARRY_EMBEDDING_DIMENSIONS: '16' });
  service.setBehavior('unauthorized');
  t.match(await doctor(), { err: /The model "letters" is unavailable: HTTP status 401/ });
});
