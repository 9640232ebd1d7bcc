import { encodeEmbedding } from '../../models/train/embedding-files.ts';
import type { Embedder, InputType } from '../../src/models/model.ts';
import { getEmbeddingModel, openEmbedder } from '../../src/models/registry.ts';
import { StaticEmbedder } from '../../src/models/static-embedder.ts';
import t from '../support/tap.ts';
import { languageSamples } from '../text/language-samples.ts';
import { tokenizerJson } from '../text/tokenizer-differences.ts';
import { GraphEmbedder } from './graph-embedder.ts';

const embedder: Embedder = await openEmbedder('zembed-1');
t.teardown(() => embedder.close());

const width = embedder.dimensions;

async function embedOne(text: string, type: InputType): Promise<Float32Array> {
  return (await embedder.embed([text], type)).vectors;
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * b[index]!, 0);
}

const oddTexts = [
  '',
  ' ',
  'one',
  'The quick brown fox jumps over the lazy dog.',
  '\u0000\u0001\u0007',
  'lone \ud800 surrogate \udc00',
  '😀😀😀',
  '中文文本检索',
  'हिन्दी में एक वाक्य',
  'a'.repeat(100_000),
  'word '.repeat(50_000),
  Array.from({ length: 40_000 }, (_, i) => `w${i.toString(36)}`).join(' '),
];

t.test('the registry knows the real width of the model', async (t) => {
  t.equal(getEmbeddingModel('zembed-1').dimensions, width);
});

t.test('every text gets a finite vector of length 1, as a query and as a document', async (t) => {
  for (const type of ['query', 'document'] as const) {
    for (const text of oddTexts) {
      const vector = await embedOne(text, type);
      t.equal(vector.length, width);
      t.ok(vector.every(Number.isFinite), `finite: ${JSON.stringify(text.slice(0, 20))}`);
      t.ok(Math.abs(dot(vector, vector) - 1) < 1e-5, 'length 1');
    }
  }
});

t.test('a text has the same vector, byte for byte, alone and in any batch', async (t) => {
  const { vectors } = await embedder.embed([...oddTexts, ...oddTexts.toReversed()], 'document');
  for (const [index, text] of oddTexts.entries()) {
    const alone = await embedOne(text, 'document');
    const other = 2 * oddTexts.length - 1 - index;
    t.same(vectors.slice(index * width, (index + 1) * width), alone);
    t.same(vectors.slice(other * width, (other + 1) * width), alone);
  }
});

t.test('vectors are those of the ONNX graph, byte for byte', async (t) => {
  const graph = await GraphEmbedder.open(getEmbeddingModel('zembed-1').folder);
  t.teardown(() => graph.close());
  const texts = [...oddTexts, ...Object.values(languageSamples), Object.values(languageSamples).join('\n')];
  for (const type of ['query', 'document'] as const) {
    for (const text of texts)
      t.same(await embedOne(text, type), await graph.embed(text, type), text.slice(0, 20));
  }
});

t.test('a static embedding may use the tokenizer.json of a BERT model', async (t) => {
  const json = tokenizerJson();
  const size = Object.keys(json.model.vocab).length;
  const dimensions = 4;
  const table = Float32Array.from({ length: size * dimensions }, (_, i) => Math.sin(i + 1));
  const weights = new Float32Array(2 * size).fill(1);
  const prefixes = new Float32Array(2 * dimensions).fill(0.01);
  const files = encodeEmbedding({ vocabulary: size, dimensions, table, weights, prefixes }, 'table.i8');
  const config = { format: 1, kind: 'static-embedding', version: '1', dimensions, repetitionExponent: 1 };
  const folder = t.testdir({
    'config.json': JSON.stringify({ ...config, tokenizer: 'bert' }),
    'tokenizer.json': JSON.stringify(json),
    'table.i8': Buffer.from(files.table),
    'model.onnx': Buffer.from(files.model),
  });
  const own = await StaticEmbedder.open('own', folder);
  t.teardown(() => own.close());
  const one = await own.embed(['CAFÉ [MASK] \u0000tea'], 'document');
  t.same(one, await own.embed(['cafe[MASK]tea'], 'document'), 'BERT drops accents and control characters');
  t.notSame(one.vectors, (await own.embed(['tea'], 'document')).vectors);
});

t.test('a second copy of the model gives the same bytes', async (t) => {
  const second = await openEmbedder('zembed-1');
  t.same((await second.embed(oddTexts, 'query')).vectors, (await embedder.embed(oddTexts, 'query')).vectors);
  await second.close();
});

t.test('query and document side differ for every text', async (t) => {
  for (const text of [
    '',
    'one',
    'heart',
    'what is a heart attack',
    'The heart pumps blood through the body.',
  ]) {
    const cosine = dot(await embedOne(text, 'query'), await embedOne(text, 'document'));
    t.ok(cosine < 0.99999, `${JSON.stringify(text)}: ${cosine}`);
  }
});

t.test('an empty list returns no vectors; tokens are summed', async (t) => {
  t.same(await embedder.embed([], 'query'), { vectors: new Float32Array(0), tokens: 0 });
  const { tokens } = await embedder.embed(['the cat', '', 'the dog sat'], 'document');
  t.equal(tokens, 5);
});

const matters: { query: string; relevant: string; others: string[] }[] = [
  {
    query: 'how does the heart pump blood?',
    relevant:
      'The cardiac muscle contracts rhythmically: the ventricles push blood into the arteries and the atria receive it from the veins.',
    others: [
      'The parliament passed the budget after a long debate about taxes and pensions.',
      'A compiler translates source code into machine instructions for a processor.',
    ],
  },
  {
    query: 'list files in a directory from the command line',
    relevant:
      'Use Get-ChildItem to show the items of a folder; in a Unix shell, ls prints the names of the files.',
    others: [
      'The football team won the championship in the last minute of the final match.',
      'Treatment of leukemia includes chemotherapy, radiation and stem cell transplant.',
    ],
  },
  {
    query: 'first president of the United States',
    relevant:
      'George Washington led the Continental Army and was elected president in 1789, serving two terms.',
    others: [
      'Convolutional neural networks learn features for image classification from labelled data.',
      'The river flows through three countries before it reaches the sea.',
    ],
  },
];

t.test('a text that answers a question is more similar than unrelated texts', async (t) => {
  for (const { query, relevant, others } of matters) {
    const question = await embedOne(query, 'query');
    const near = dot(question, await embedOne(relevant, 'document'));
    for (const other of others) t.ok(near > dot(question, await embedOne(other, 'document')) + 0.05, query);
  }
});

t.test('close is idempotent, and a closed model cannot be used', async (t) => {
  const closing = await openEmbedder('zembed-1');
  await closing.close();
  await closing.close();
  await t.rejects(closing.embed(['x'], 'query'), /the model is open/);
});
