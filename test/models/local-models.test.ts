import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { addModel, listAddedModels, removeModel, testModel } from '../../src/models/added-models.ts';
import type { ModelOverrides } from '../../src/models/inspect-model-folder.ts';
import type { InferenceOptions, LocalEmbedding, LocalReranker } from '../../src/models/local-model.ts';
import { modelsFolder } from '../../src/models/models-folder.ts';
import { OnnxEmbedder } from '../../src/models/onnx-embedder.ts';
import { OnnxReranker } from '../../src/models/onnx-reranker.ts';
import {
  bertTokenizer,
  buildGraph,
  clsId,
  embeddingWidth,
  floatTensor,
  nextTokenGraph,
  quantizedTokenVectorsGraph,
  sepId,
  tokenIdsOf,
  tokenVectorsGraph,
  unigramTokenizer,
  vectorComponent,
  vocabulary,
  weightedTokensGraph,
  writeModelFolder,
} from './model-folder-fixtures.ts';

const run: InferenceOptions = { threads: 1, batchTokens: 64, executionProviders: ['cpu'] };

function dataFolder(t: Test): string {
  const data = mkdtempSync(join(tmpdir(), 'quarry-models-'));
  t.teardown(() => rmSync(data, { recursive: true, force: true }));
  return data;
}

const defaultOptions: ModelOverrides = {
  ...{ id: 'small', kind: undefined, graph: undefined, pooling: undefined, dimensions: undefined },
  ...{ tokensMax: undefined, queryPrompt: undefined, documentPrompt: undefined, template: undefined },
};

type Files = Parameters<typeof writeModelFolder>[1];

async function embedder(t: Test, files: Files = {}, options: Partial<ModelOverrides> = {}, how = run) {
  const data = dataFolder(t);
  const model = (await addModel(data, writeModelFolder(t, files), {
    ...defaultOptions,
    ...options,
  })) as LocalEmbedding;
  t.equal(model.kind, 'embedding');
  const opened = await OnnxEmbedder.open({
    model,
    folder: join(modelsFolder(data), model.id),
    inferenceOptions: how,
  });
  t.teardown(() => opened.close());
  return { model, opened };
}

async function reranker(t: Test, files: Files, options: Partial<ModelOverrides> = {}) {
  const data = dataFolder(t);
  const model = (await addModel(data, writeModelFolder(t, files), {
    ...defaultOptions,
    ...options,
  })) as LocalReranker;
  t.equal(model.kind, 'reranker');
  const opened = await OnnxReranker.open({
    model,
    folder: join(modelsFolder(data), model.id),
    inferenceOptions: run,
  });
  t.teardown(() => opened.close());
  return { model, opened };
}

type Reference = (ids: readonly number[], i: number) => number;
const references: Readonly<Record<'mean' | 'cls' | 'last', Reference>> = {
  mean: (ids, i) => ids.reduce((sum, id) => sum + vectorComponent(id, i), 0) / ids.length,
  cls: (ids, i) => vectorComponent(ids[0]!, i),
  last: (ids, i) => vectorComponent(ids.at(-1)!, i),
};

/** Reference computation of the vector of these tokens. */
function expected(
  ids: readonly number[],
  pooling: keyof typeof references,
  dimensions = embeddingWidth,
): number[] {
  const vector = Array.from({ length: dimensions }, (_, i) => references[pooling](ids, i));
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function checkNear(
  t: Test,
  actual: Float32Array,
  expectedVector: readonly number[],
  what: string,
  most = 1e-5,
): void {
  const off = Math.max(...expectedVector.map((value, i) => Math.abs(value - actual[i]!)));
  t.ok(
    actual.length === expectedVector.length && off < most,
    `${what}: ${actual.length} numbers, off by ${off}`,
  );
}

const texts = [
  'herring',
  'salt herring barrel',
  '',
  'tide',
  'gull tide gull tide gull tide gull',
  'yes no salt',
];

const noted = (fields: object) => ({
  '1_Pooling/config.json': { word_embedding_dimension: embeddingWidth, ...fields },
});
const tokenizers = { bert: bertTokenizer, unigram: unigramTokenizer };

/** Tokenizer without special tokens, so that the first and the last token differ between texts. */
const bare = { ...bertTokenizer, post_processor: null };
const bareIds = (text: string) => tokenIdsOf(text).slice(1, -1);

for (const [kind, tokenizer] of Object.entries(tokenizers)) {
  t.test(
    `the mean of the vectors of tokens, with a tokenizer of the kind ${kind}, alone and in company`,
    async (t) => {
      for (const files of [{}, noted({ pooling_mode_mean_tokens: true })]) {
        const { opened, model } = await embedder(t, { ...files, 'tokenizer.json': tokenizer });
        t.match(model, {
          pooling: 'mean',
          dimensions: embeddingWidth,
          tokensMax: 32,
          output: 'last_hidden_state',
        });
        const { vectors, tokens } = await opened.embed(texts, 'document');
        checkNear(
          t,
          vectors,
          texts.flatMap((text) => expected(tokenIdsOf(text), 'mean')),
          'all of them',
        );
        t.equal(
          tokens,
          texts.reduce((sum, text) => sum + tokenIdsOf(text).length, 0),
        );
        for (const text of texts) {
          const alone = await opened.embed([text], 'document');
          checkNear(t, alone.vectors, expected(tokenIdsOf(text), 'mean'), `alone: ${text}`);
        }
      }
    },
  );
}

for (const [pooling, files] of [
  ['cls', noted({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false })],
  ['last', noted({ pooling_mode_lasttoken: true, pooling_mode_mean_tokens: false })],
] as const) {
  t.test(`the vector of one token: ${pooling}`, async (t) => {
    for (const [result, options] of [
      [files, {}],
      [{}, { pooling }],
    ] as const) {
      const { opened, model } = await embedder(t, { ...result, 'tokenizer.json': bare }, options);
      t.equal(model.pooling, pooling);
      const nonEmptyTexts = texts.filter((text) => text !== '');
      const { vectors } = await opened.embed(nonEmptyTexts, 'query');
      checkNear(
        t,
        vectors,
        nonEmptyTexts.flatMap((text) => expected(bareIds(text), pooling)),
        pooling,
      );
      const { vectors: nothing } = await opened.embed([''], 'query');
      t.same([...nothing], [1, 0, 0, 0, 0, 0], 'a text without tokens has a direction too');
    }
  });
}

t.test('prompts, fewer dimensions, 32-bit inputs', async (t) => {
  const prompts = { 'config_sentence_transformers.json': { prompts: { query: 'yes ', passage: 'no ' } } };
  const { opened } = await embedder(
    t,
    { ...prompts, 'model.onnx': tokenVectorsGraph('last_hidden_state', 'int32') },
    { dimensions: 4 },
  );
  const [query, document] = [await opened.embed(['salt'], 'query'), await opened.embed(['salt'], 'document')];
  checkNear(t, query.vectors, expected(tokenIdsOf('yes salt'), 'mean', 4), 'a query');
  checkNear(t, document.vectors, expected(tokenIdsOf('no salt'), 'mean', 4), 'a document');
  const own = await embedder(t, prompts, { queryPrompt: 'gull ', documentPrompt: '' });
  checkNear(
    t,
    (await own.opened.embed(['salt'], 'query')).vectors,
    expected(tokenIdsOf('gull salt'), 'mean'),
    'a prompt of ours',
  );
});

t.test('a quantised variant is chosen by name; one graph in onnx/ needs no name', async (t) => {
  const files = {
    'model.onnx': null,
    'onnx/model.onnx': tokenVectorsGraph(),
    'onnx/model_int8.onnx': quantizedTokenVectorsGraph(),
  };
  const exact = await embedder(t, files);
  const coarse = await embedder(t, files, { graph: 'onnx/model_int8.onnx' });
  t.match([exact.model.graph, coarse.model.graph], ['onnx/model.onnx', 'onnx/model_int8.onnx']);
  t.not(exact.model.version, coarse.model.version, 'they are two versions');
  const { vectors } = await coarse.opened.embed(['salt herring'], 'query');
  checkNear(t, vectors, expected(tokenIdsOf('salt herring'), 'mean'), 'about the same', 0.02);
  const only = await embedder(t, {
    'model.onnx': null,
    'onnx/model_quantized.onnx': quantizedTokenVectorsGraph(),
  });
  t.equal(only.model.graph, 'onnx/model_quantized.onnx');
});

t.test('a graph that pools by itself is believed', async (t) => {
  const graph = buildGraph({
    constants: [
      floatTensor(
        'table',
        [vocabulary.length, 2],
        vocabulary.flatMap((_, id) => [id, 1]),
      ),
    ],
    nodes: [
      { operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['rows'] },
      {
        operator: 'ReduceMax',
        inputs: ['rows'],
        outputs: ['sentence_embedding'],
        attributes: { axes: [1], keepdims: 0 },
      },
    ],
    outputs: [{ name: 'sentence_embedding', type: 'float', shape: ['texts', 2] }],
  });
  const { opened, model } = await embedder(t, { 'model.onnx': graph });
  t.match(model, { pooling: 'none', dimensions: 2 });
  const most = vocabulary.indexOf('tide');
  const length = Math.hypot(most, 1);
  checkNear(
    t,
    (await opened.embed(['gull tide'], 'query')).vectors,
    [most / length, 1 / length],
    'its own pooling',
  );
});

t.test('long texts are cut, and their special tokens stay', async (t) => {
  const { opened, model } = await embedder(t, { 'sentence_bert_config.json': { max_seq_length: 8 } });
  t.equal(model.tokensMax, 8);
  const text = 'salt '.repeat(1_000_000);
  const { vectors, tokens } = await opened.embed([text, 'tide'], 'document');
  const salt = vocabulary.indexOf('salt');
  checkNear(
    t,
    vectors.slice(0, embeddingWidth),
    expected([clsId, salt, salt, salt, salt, salt, salt, sepId], 'mean'),
    'the beginning',
  );
  t.equal(tokens, 8 + 3);
  const rowTexts = ['\ud800', 'a\u0000\u0007b', ' \n\t', '漢字', '😀'.repeat(5_000)];
  const { vectors: all } = await opened.embed(rowTexts, 'query');
  t.ok(all.length === rowTexts.length * embeddingWidth && all.every(Number.isFinite));
  const many = Array.from({ length: 3_000 }, (_, i) => (i % 2 === 0 ? 'x' : 'gull'));
  t.equal((await opened.embed(many, 'query')).vectors.length, many.length * embeddingWidth);
});

const weights = vocabulary.map((_, id) => (id < 4 ? 0.01 * id : Math.cos(id)));
const sigmoid = (odds: number) => 1 / (1 + Math.exp(-odds));
const answers = ['herring', 'salt salt', '', 'tide gull tide gull yes no'];

for (const classes of [1, 2] as const) {
  t.test(`a cross-encoder with ${classes === 1 ? 'one logit' : 'two classes'}`, async (t) => {
    const { opened, model } = await reranker(t, { 'model.onnx': weightedTokensGraph(weights, classes) });
    t.equal(model.head, classes === 1 ? 'one-logit' : 'two-classes');
    const { scores } = await opened.score('barrel gull', answers);
    // The document and the separator after it have token type 1.
    const expectedScores = answers.map((text) => {
      const ids = tokenIdsOf(text).slice(1);
      return sigmoid(ids.reduce((sum, id) => sum + weights[id]!, 0));
    });
    checkNear(t, scores, expectedScores, 'scores');
    const long = await opened.score('gull '.repeat(5_000), ['herring '.repeat(100_000)]);
    // 32 tokens: 3 special ones, 14 of the query, 15 of the document.
    checkNear(
      t,
      long.scores,
      [sigmoid(15 * weights[vocabulary.indexOf('herring')]! + weights[sepId]!)],
      'cut to fit',
    );
    t.equal(long.tokens, 32);
  });
}

t.test('a language model that answers yes or no', async (t) => {
  const [yes, no] = [vocabulary.indexOf('yes'), vocabulary.indexOf('no')];
  const graph = nextTokenGraph((id, next) => (next === yes ? id / 5 : next === no ? 0.3 : 50));
  const tokenizer = { ...bertTokenizer, post_processor: null };
  const template = '{query} tide {document}';
  const { opened, model } = await reranker(
    t,
    { 'model.onnx': graph, 'tokenizer.json': tokenizer },
    { template },
  );
  t.match(model, { head: 'yes-no', question: { yes, no, template } });
  const { scores } = await opened.score('$& salt', ['herring', 'tide gull', 'barrel barrel barrel']);
  const last = ['herring', 'gull', 'barrel'].map((word) => sigmoid(vocabulary.indexOf(word) / 5 - 0.3));
  checkNear(t, scores, last, 'the odds behind the last token');
});

const nan = vocabulary.flatMap(() => Array.from({ length: embeddingWidth }, () => Number.NaN));
const shapeless = (
  name: string,
  shape: readonly (number | string)[],
  nodes: Parameters<typeof buildGraph>[0]['nodes'],
  values = nan,
) =>
  buildGraph({
    constants: [floatTensor('table', [vocabulary.length, embeddingWidth], values)],
    nodes,
    outputs: [{ name, type: 'float', shape }],
  });
const gather = (output: string) => ({
  operator: 'Gather',
  inputs: ['table', 'input_ids'],
  outputs: [output],
});
const broken: readonly (readonly [string, Files, RegExp, Partial<ModelOverrides>?])[] = [
  ['no config.json', { 'config.json': null }, /config\.json is missing/],
  ['a broken config.json', { 'config.json': '{"a":' }, /config\.json is not JSON/],
  ['a config.json that is a list', { 'config.json': '[]' }, /config\.json is not a JSON object/],
  ['no tokenizer.json', { 'tokenizer.json': null }, /tokenizer\.json is missing/],
  ['a broken tokenizer.json', { 'tokenizer.json': '{"model"' }, /tokenizer\.json is not JSON/],
  ['a tokenizer.json about nothing', { 'tokenizer.json': {} }, /tokenizer\.json cannot be used/],
  ['no graph', { 'model.onnx': null }, /contains no ONNX graph\. Expected model\.onnx or onnx\/model\.onnx/],
  ['an empty graph', { 'model.onnx': '' }, /model\.onnx cannot be loaded/],
  [
    'a graph that is none',
    { 'model.onnx': 'version https://git-lfs.github.com/spec/v1' },
    /model\.onnx is a Git LFS pointer, not the file itself\. Run `git lfs pull`/,
  ],
  ['half a graph', { 'model.onnx': tokenVectorsGraph().subarray(0, 200) }, /model\.onnx cannot be loaded/],
  [
    'a graph that is not there',
    {},
    /onnx\/other\.onnx is missing; choose one with --graph: model\.onnx/,
    { graph: 'onnx/other.onnx' },
  ],
  [
    'several ONNX graphs',
    { 'model.onnx': null, 'a.onnx': tokenVectorsGraph(), 'b.onnx': tokenVectorsGraph() },
    /several ONNX graphs; choose one with --graph: a\.onnx, b\.onnx/,
  ],
  [
    'a graph that gives NaN',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', 'tokens', embeddingWidth],
        [gather('last_hidden_state')],
      ),
    },
    /zero, NaN or infinite/,
  ],
  [
    'a graph that gives zeros',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', 'tokens', embeddingWidth],
        [gather('last_hidden_state')],
        nan.map(() => 0),
      ),
    },
    /zero, NaN or infinite/,
  ],
  [
    'a graph that gives the same for all',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', 'tokens', embeddingWidth],
        [gather('last_hidden_state')],
        nan.map(() => 1),
      ),
    },
    /the same vector for different texts/,
  ],
  [
    'vectors of the wrong shape',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', embeddingWidth],
        [
          gather('rows'),
          {
            operator: 'ReduceMean',
            inputs: ['rows'],
            outputs: ['last_hidden_state'],
            attributes: { axes: [1], keepdims: 0 },
          },
        ],
        nan.map((_, i) => i),
      ),
    },
    /has shape \[1, 6\]|has shape \[\d+, 6\]; expected \[texts, tokens, dimensions\]/,
  ],
  [
    'scores of three classes',
    {
      'model.onnx': shapeless(
        'logits',
        ['texts', embeddingWidth],
        [
          gather('rows'),
          {
            operator: 'ReduceMean',
            inputs: ['rows'],
            outputs: ['logits'],
            attributes: { axes: [1], keepdims: 0 },
          },
        ],
        nan.map((_, i) => i),
      ),
    },
    /"logits" has shape \[1, 6\], which is neither a score, two classes, nor token logits/,
  ],
  ['a score that is NaN', { 'model.onnx': weightedTokensGraph(vocabulary.map(() => Number.NaN)) }, /NaN/],
  [
    'an input that nobody has',
    {
      'model.onnx': buildGraph({
        inputs: ['input_ids', 'pixel_values'],
        constants: [floatTensor('table', [vocabulary.length, embeddingWidth], nan)],
        nodes: [gather('x')],
        outputs: [{ name: 'x', type: 'float', shape: ['a', 'b', embeddingWidth] }],
      }),
    },
    /the unsupported input "pixel_values" \(int64\)\. Supported integer inputs: input_ids/,
  ],
  ['too many dimensions', {}, /has 6 dimensions; 7 were requested/, { dimensions: 7 }],
  [
    'a strange pooling',
    noted({ pooling_mode_mean_tokens: false, pooling_mode_of_tomorrow: true }),
    /1_Pooling\/config\.json uses unsupported pooling: pooling_mode_of_tomorrow\. .*--pooling/,
  ],
  [
    'a template without document',
    { 'model.onnx': nextTokenGraph(() => 1) },
    /template must contain/,
    { template: '{query}' },
  ],
  ['the name of a built-in model', {}, /zembed-1 is a built-in model/, { id: 'zembed-1' }],
  ['a name that is a path', {}, /is not a valid model name/, { id: '../x' }],
];

/** Graph with weights in an external file. */
const outside = (file: string) =>
  buildGraph({
    constants: [
      {
        name: 'table',
        type: 'float',
        shape: [vocabulary.length, embeddingWidth],
        data: { file, bytes: 4 * vocabulary.length * embeddingWidth },
      },
    ],
    nodes: [gather('last_hidden_state')],
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', embeddingWidth] }],
  });
const weightsFile = new Uint8Array(
  Float32Array.from(
    vocabulary.flatMap((_, id) => Array.from({ length: embeddingWidth }, (__, i) => vectorComponent(id, i))),
  ).buffer,
);

/** Dense layer from `inputs` to two outputs, as a safetensors file. */
function denseLayer(inputs: number, cut = 0): Uint8Array {
  const floatsOf = (values: readonly number[]) => Buffer.from(Float32Array.from(values).buffer);
  const weight = floatsOf(Array.from({ length: 2 * inputs }, (_, i) => Math.cos(i)));
  const bias = floatsOf([0.25, -0.5]);
  const header = Buffer.from(
    JSON.stringify({
      __metadata__: { format: 'pt' },
      'linear.weight': { dtype: 'F32', shape: [2, inputs], data_offsets: [0, weight.length] },
      'linear.bias': { dtype: 'F32', shape: [2], data_offsets: [weight.length, weight.length + bias.length] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const whole = Buffer.concat([length, header, weight, bias]);
  return whole.subarray(0, whole.length - cut);
}

const modules = (...list: readonly (readonly [type: string, path: string])[]) => ({
  'modules.json': [['Transformer', ''] as const, ...list].map(([type, path], i) => ({
    ...{ name: String(i), path, type: `sentence_transformers.models.${type}` },
  })),
});
const sentence = {
  ...modules(['Pooling', '1_Pooling'], ['Dense', '2_Dense'], ['Normalize', '3_Normalize']),
  ...noted({ pooling_mode_mean_tokens: true }),
  '2_Dense/config.json': {
    ...{ in_features: embeddingWidth, out_features: 2, bias: true },
    activation_function: 'torch.nn.modules.activation.Tanh',
  },
};

for (const [mode, pooling] of [
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_sqrt_len_tokens', 'mean-sqrt-length'],
  ['pooling_mode_weightedmean_tokens', 'weighted-mean'],
] as const) {
  t.test(`pooling of sentence-transformers: ${pooling}`, async (t) => {
    const files = { ...modules(['Pooling', 'p']), 'p/config.json': { [mode]: true } };
    const { opened, model } = await embedder(t, files);
    t.equal(model.pooling, pooling);
    const plainly = (ids: readonly number[], i: number): number => {
      if (pooling === 'max') return Math.max(...ids.map((id) => vectorComponent(id, i)));
      const weight = (at: number) => (pooling === 'weighted-mean' ? at + 1 : 1);
      return ids.reduce((sum, id, at) => sum + weight(at) * vectorComponent(id, i), 0);
    };
    const { vectors } = await opened.embed(texts, 'document');
    const expectedVectors = texts.flatMap((text) => {
      const vector = Array.from({ length: embeddingWidth }, (_, i) => plainly(tokenIdsOf(text), i));
      return vector.map((value) => value / Math.hypot(...vector));
    });
    checkNear(t, vectors, expectedVectors, pooling);
  });
}

t.test('a dense layer behind the pooling, and prompts that do not count in it', async (t) => {
  const files = { ...sentence, '2_Dense/model.safetensors': denseLayer(embeddingWidth) };
  const withPrompt = {
    ...files,
    ...noted({ pooling_mode_mean_sqrt_len_tokens: true, include_prompt: false }),
    'config_sentence_transformers.json': { prompts: { ask: 'yes no ' }, default_prompt_name: 'ask' },
  };
  for (const [result, skip, root] of [
    [files, 0, false],
    [withPrompt, 3, true],
  ] as const) {
    const { opened, model } = await embedder(t, result);
    t.match(model, { dimensions: 2, layers: [{ file: '2_Dense/model.safetensors', activation: 'tanh' }] });
    for (const text of ['salt herring', 'tide']) {
      const ids = tokenIdsOf(skip === 0 ? text : `yes no ${text}`).slice(skip);
      const mean = Array.from(
        { length: embeddingWidth },
        (_, i) =>
          ids.reduce((sum, id) => sum + vectorComponent(id, i), 0) /
          (root ? Math.sqrt(ids.length) : ids.length),
      );
      const layer = [0.25, -0.5].map((bias, row) =>
        Math.tanh(mean.reduce((sum, value, i) => sum + Math.cos(row * embeddingWidth + i) * value, bias)),
      );
      const { vectors } = await opened.embed([text], 'document');
      checkNear(
        t,
        vectors,
        layer.map((value) => value / Math.hypot(...layer)),
        text,
      );
    }
  }
});

t.test('weights beside the graph come along, whatever their file is called', async (t) => {
  for (const file of ['model.onnx_data', 'weights of mine.bin', `${'long'.repeat(40)}.bin`]) {
    const { opened } = await embedder(t, { 'model.onnx': outside(file), [file]: weightsFile });
    checkNear(t, (await opened.embed(['salt'], 'query')).vectors, expected(tokenIdsOf('salt'), 'mean'), file);
  }
});

const further: typeof broken = [
  [
    'weights that are missing',
    { 'model.onnx': outside('w.bin') },
    /w\.bin is missing\. .*model\.onnx stores its weights there/,
  ],
  ['weights elsewhere', { 'model.onnx': outside('../w.bin') }, /"\.\.\/w\.bin", outside the model folder/],
  [
    'weights that are cut off',
    { 'model.onnx': outside('w.bin'), 'w.bin': 'short' },
    /model\.onnx cannot be loaded/,
  ],
  ['a module nobody knows', modules(['CNN', '1_CNN']), /modules\.json uses the unsupported module "CNN"/],
  ['modules that are none', { 'modules.json': {} }, /modules\.json is not a list of modules/],
  ['a module elsewhere', modules(['Pooling', '../1']), /modules\.json refers to "\.\.\/1"/],
  ['a pooling without its file', modules(['Pooling', 'p']), /p\/config\.json is missing/],
  ['no pooling', noted({ pooling_mode_mean_tokens: false }), /no pooling_mode_\* is true/],
  [
    'two poolings',
    noted({ pooling_mode_mean_tokens: true, pooling_mode_max_tokens: true }),
    /max_tokens.* and |mean_tokens and/,
  ],
  ['a dense layer without weights', sentence, /2_Dense\/model\.safetensors is missing/],
  [
    'a dense layer for Python',
    { ...sentence, '2_Dense/pytorch_model.bin': 'x' },
    /pytorch_model\.bin is a Python pickle/,
  ],
  [
    'a dense layer that is cut off',
    { ...sentence, '2_Dense/model.safetensors': denseLayer(embeddingWidth, 4) },
    /model\.safetensors cannot be used: tensor "linear\.bias" is truncated/,
  ],
  [
    'a dense layer of nothing',
    { ...sentence, '2_Dense/model.safetensors': 'x' },
    /model\.safetensors cannot be used: not a complete safetensors file/,
  ],
  [
    'a dense layer of another width',
    { ...sentence, '2_Dense/model.safetensors': denseLayer(3) },
    /expects 3 dimensions, got 6/,
  ],
  [
    'an activation nobody knows',
    { ...sentence, '2_Dense/config.json': { activation_function: 'torch.nn.GLU' } },
    /uses the unsupported activation "GLU"/,
  ],
];

for (const [what, files, message, options] of [...broken, ...further]) {
  t.test(`refused with the reason: ${what}`, async (t) => {
    const data = dataFolder(t);
    await t.rejects(addModel(data, writeModelFolder(t, files), { ...defaultOptions, ...options }), {
      name: 'AppError',
      message,
    });
    t.same(await listAddedModels(data), [], 'nothing was added');
  });
}

t.test(
  'models are listed, tried and removed; the folder they came from is not needed any more',
  async (t) => {
    const data = dataFolder(t);
    t.same(await listAddedModels(data), []);
    const folder = writeModelFolder(t, { 'model.onnx_data': 'weights' });
    const model = await addModel(data, folder, defaultOptions);
    await t.rejects(addModel(data, folder, defaultOptions), {
      code: 'conflict',
      message: /A model named small already exists/,
    });
    t.ok(
      existsSync(join(modelsFolder(data), 'small', 'model.onnx_data')),
      'weights in files of their own come along',
    );
    rmSync(folder, { recursive: true });
    t.same(await listAddedModels(data), [model]);
    const tried = await testModel(data, 'small', { query: 'herring', documents: ['herring', 'tide'], run });
    t.ok(Math.abs(tried.scores[0]! - 1) < 1e-5 && tried.scores[1]! < 0.999);
    await t.rejects(testModel(data, 'other', { query: '', documents: [], run }), {
      message: /Added models: small/,
    });
    await addModel(data, writeModelFolder(t, { 'model.onnx': weightedTokensGraph(weights) }), {
      ...defaultOptions,
      id: 'judge',
    });
    t.equal((await testModel(data, 'judge', { query: 'a', documents: ['salt'], run })).scores.length, 1);
    await removeModel(data, 'small');
    t.match(await listAddedModels(data), [{ id: 'judge' }]);
    writeFileSync(join(modelsFolder(data), 'judge', 'quarry.json'), '{');
    await t.rejects(listAddedModels(data), { message: /judge\/quarry\.json cannot be read/ });
  },
);

t.test('links lead to files of the folder or of the cache of Hugging Face, and nowhere else', async (t) => {
  const data = dataFolder(t);
  const secret = join(data, 'secret.json');
  writeFileSync(secret, JSON.stringify(bertTokenizer));
  const folder = writeModelFolder(t, { 'tokenizer.json': null });
  symlinkSync(secret, join(folder, 'tokenizer.json'));
  await t.rejects(addModel(data, folder, defaultOptions), {
    message: /tokenizer\.json is a link to .*secret\.json, outside the model folder\. Copy the file/,
  });
  const cached = writeModelFolder(t, {}, 'models--x--y');
  const snapshot = join(cached, 'snapshots', 'abc');
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(cached, 'blobs'));
  for (const file of ['config.json', 'tokenizer.json', 'model.onnx']) {
    renameSync(join(cached, file), join(cached, 'blobs', `hash of ${file}`));
    symlinkSync(join('..', '..', 'blobs', `hash of ${file}`), join(snapshot, file));
  }
  t.match(await addModel(data, snapshot, defaultOptions), { id: 'small', dimensions: embeddingWidth });
});
