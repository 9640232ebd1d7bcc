import { join } from 'node:path';
import { featureCount, featureDirections } from '../../models/train/rerank-features.ts';
import { AppError } from '../../src/core/app-error.ts';
import { OnnxSession } from '../../src/models/onnx-session.ts';
import { getRerankModel, openBuiltInReranker, rerankModels } from '../../src/models/registry.ts';
import t from '../support/tap.ts';

const reranker = await openBuiltInReranker('zerank-2');
t.teardown(() => reranker.close());

const query = 'When was the steam engine of James Watt patented?';
const documents = [
  'James Watt patented a steam engine with a separate condenser in 1769.',
  'Steam is water in the gas phase; it forms when water boils.',
  '',
  '\ud800 \u0000 😀',
  '蒸気機関の特許',
  'engine '.repeat(20_000),
  'x'.repeat(100_000),
  'The quick brown fox jumps over the lazy dog.',
];

t.test('an unknown reranker is a 404 that lists the known ones', async (t) => {
  t.throws(() => getRerankModel('zerank-3'), AppError);
  t.throws(() => getRerankModel('zerank-3'), { status: 404, message: /zerank-2, zerank-1, zerank-1-small/ });
  await t.rejects(openBuiltInReranker('zembed-1'), AppError);
});

t.test('every document, however unusual, gets one score in 0..1', async (t) => {
  for (const queryText of [
    query,
    '',
    '?',
    'what is the',
    '特許',
    'w'.repeat(4096),
    'many words '.repeat(370),
  ]) {
    const { scores } = await reranker.score(queryText, documents);
    t.equal(scores.length, documents.length);
    t.ok(
      scores.every((score) => score >= 0 && score <= 1),
      JSON.stringify(queryText.slice(0, 30)),
    );
  }
});

t.test('a score is the same bit for bit, alone and in any order or batch', async (t) => {
  const many = [...documents, ...Array.from({ length: 150 }, (_, i) => `filler number ${i} about steam`)];
  const { scores } = await reranker.score(query, many);
  const reversed = (await reranker.score(query, many.toReversed())).scores.toReversed();
  t.same(reversed, scores);
  for (const [index, document] of documents.entries()) {
    t.equal((await reranker.score(query, [document])).scores[0], scores[index]);
  }
});

t.test('an empty list returns no scores; the query is counted once', async (t) => {
  t.equal((await reranker.score(query, [])).scores.length, 0);
  const one = await reranker.score('steam', ['engine']);
  const two = await reranker.score('steam', ['engine', 'engine']);
  t.same([one.tokens, two.tokens], [2, 3]);
});

const preferred: { query: string; better: string; worse: string }[] = [
  {
    query,
    better: documents[0]!,
    worse: 'The museum was patented by nobody, but James opened it to visitors of the town in 1990.',
  },
  {
    query: 'side effects of aspirin',
    better: 'Aspirin may cause stomach bleeding, nausea and, in children, a rare liver disease.',
    worse: 'The side door of the building is used by staff and has a code lock.',
  },
  {
    query: 'Boeing 747 range',
    better: 'The Boeing 747-400 has a range of 13,450 km with a full load of passengers.',
    worse: 'The Boeing 737 has a range of 5,600 km with a full load of passengers.',
  },
  {
    query: 'delete a key in redis',
    better: 'DEL removes the given keys. A key is ignored if it does not exist.',
    worse: 'The orchestra played in the key of D minor for the whole evening.',
  },
  {
    query: 'who wrote Pride and Prejudice',
    better: 'Pride and Prejudice is an 1813 novel by Jane Austen.',
    worse: 'Prejudice against the pride of lions in the park has no basis, the ranger says to the paper.',
  },
];

t.test('a text that answers scores higher than one that only shares words or subject', async (t) => {
  for (const { query, better, worse } of preferred) {
    const { scores } = await reranker.score(query, [worse, better]);
    t.ok(scores[1]! > scores[0]!, `${query}: ${scores[1]} > ${scores[0]}`);
  }
});

t.test('every feature is monotonic: a text never gains by matching less', async (t) => {
  const session = await OnnxSession.open(join(getRerankModel('zerank-2').folder, 'model.onnx'));
  let state = 1;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const score = async (features: Float32Array): Promise<number> =>
    (await session.run({ features: { data: features, shape: [1, featureCount] } }, 'scores'))[0]!;
  for (let round = 0; round < 40; round += 1) {
    const features = Float32Array.from({ length: featureCount }, () => random());
    const before = await score(features);
    for (const [index, [name, direction]] of Object.entries(featureDirections).entries()) {
      if (direction === 0) continue;
      const more = features.slice();
      more[index]! += 0.3;
      if (((await score(more)) - before) * direction < -1e-6) t.fail(`${name} works against its direction`);
    }
  }
  t.pass('40 random pairs, every feature');
  await session.close();
});

t.test('every reranker name is served, currently by the same weights', async (t) => {
  const { scores } = await reranker.score(query, documents);
  for (const { id } of rerankModels) {
    const other = await openBuiltInReranker(id);
    t.equal(other.id, id);
    t.same((await other.score(query, documents)).scores, scores);
    await other.close();
  }
});

t.test('close is idempotent, and a closed model cannot be used', async (t) => {
  const closing = await openBuiltInReranker('zerank-1');
  await closing.close();
  await closing.close();
  await t.rejects(closing.score('x', ['y']), /the model is open/);
});
