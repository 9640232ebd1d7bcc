import t from '../support/tap.ts';
import { checkNear, expectedVector, openEmbedder, texts } from './local-model-fixtures.ts';
import {
  bertTokenizer,
  buildGraph,
  clsId,
  embeddingWidth,
  floatTensor,
  quantizedTokenVectorsGraph,
  sepId,
  tokenIdsOf,
  tokenVectorsGraph,
  unigramTokenizer,
  vocabulary,
} from './model-folder-fixtures.ts';
import { poolingConfig } from './sentence-transformers-fixtures.ts';

const tokenizers = { bert: bertTokenizer, unigram: unigramTokenizer };

/** Tokenizer without special tokens, so that the first and the last token differ between texts. */
const bare = { ...bertTokenizer, post_processor: null };
const bareIds = (text: string) => tokenIdsOf(text).slice(1, -1);

for (const [kind, tokenizer] of Object.entries(tokenizers)) {
  t.test(
    `the mean of the vectors of tokens, with a tokenizer of the kind ${kind}, alone and in a batch`,
    async (t) => {
      for (const files of [{}, poolingConfig({ pooling_mode_mean_tokens: true })]) {
        const { opened, model } = await openEmbedder(t, { ...files, 'tokenizer.json': tokenizer });
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
          texts.flatMap((text) => expectedVector(tokenIdsOf(text), 'mean')),
          'all texts have a vector',
        );
        t.equal(
          tokens,
          texts.reduce((sum, text) => sum + tokenIdsOf(text).length, 0),
        );
        for (const text of texts) {
          const alone = await opened.embed([text], 'document');
          checkNear(t, alone.vectors, expectedVector(tokenIdsOf(text), 'mean'), `alone: ${text}`);
        }
      }
    },
  );
}

for (const [pooling, files] of [
  ['cls', poolingConfig({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false })],
  ['last', poolingConfig({ pooling_mode_lasttoken: true, pooling_mode_mean_tokens: false })],
] as const) {
  t.test(`the vector of one token: ${pooling}`, async (t) => {
    for (const [result, options] of [
      [files, {}],
      [{}, { pooling }],
    ] as const) {
      const { opened, model } = await openEmbedder(t, { ...result, 'tokenizer.json': bare }, options);
      t.equal(model.pooling, pooling);
      const nonEmptyTexts = texts.filter((text) => text !== '');
      const { vectors } = await opened.embed(nonEmptyTexts, 'query');
      checkNear(
        t,
        vectors,
        nonEmptyTexts.flatMap((text) => expectedVector(bareIds(text), pooling)),
        pooling,
      );
      const { vectors: nothing } = await opened.embed([''], 'query');
      t.same([...nothing], [1, 0, 0, 0, 0, 0], 'a text without tokens has a nonzero vector too');
    }
  });
}

t.test('prompts, fewer dimensions, 32-bit inputs', async (t) => {
  const prompts = { 'config_sentence_transformers.json': { prompts: { query: 'yes ', passage: 'no ' } } };
  const { opened } = await openEmbedder(
    t,
    { ...prompts, 'model.onnx': tokenVectorsGraph('last_hidden_state', 'int32') },
    { dimensions: 4 },
  );
  const [query, document] = [await opened.embed(['salt'], 'query'), await opened.embed(['salt'], 'document')];
  checkNear(t, query.vectors, expectedVector(tokenIdsOf('yes salt'), 'mean', 4), 'a query');
  checkNear(t, document.vectors, expectedVector(tokenIdsOf('no salt'), 'mean', 4), 'a document');
  const own = await openEmbedder(t, prompts, { queryPrompt: 'gull ', documentPrompt: '' });
  checkNear(
    t,
    (await own.opened.embed(['salt'], 'query')).vectors,
    expectedVector(tokenIdsOf('gull salt'), 'mean'),
    'a configured prompt',
  );
});

t.test('a quantized variant is selected by name; a single graph in onnx/ needs no name', async (t) => {
  const files = {
    'model.onnx': null,
    'onnx/model.onnx': tokenVectorsGraph(),
    'onnx/model_int8.onnx': quantizedTokenVectorsGraph(),
  };
  const exact = await openEmbedder(t, files);
  const coarse = await openEmbedder(t, files, { graph: 'onnx/model_int8.onnx' });
  t.match([exact.model.graph, coarse.model.graph], ['onnx/model.onnx', 'onnx/model_int8.onnx']);
  t.not(exact.model.version, coarse.model.version, 'they are two versions');
  const { vectors } = await coarse.opened.embed(['salt herring'], 'query');
  checkNear(t, vectors, expectedVector(tokenIdsOf('salt herring'), 'mean'), 'about the same', 0.02);
  const only = await openEmbedder(t, {
    'model.onnx': null,
    'onnx/model_quantized.onnx': quantizedTokenVectorsGraph(),
  });
  t.equal(only.model.graph, 'onnx/model_quantized.onnx');
});

t.test('a graph that pools is used without further pooling', async (t) => {
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
  const { opened, model } = await openEmbedder(t, { 'model.onnx': graph });
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

t.test('long texts are truncated, and their special tokens remain', async (t) => {
  const { opened, model } = await openEmbedder(t, { 'sentence_bert_config.json': { max_seq_length: 8 } });
  t.equal(model.tokensMax, 8);
  const text = 'salt '.repeat(1_000_000);
  const { vectors, tokens } = await opened.embed([text, 'tide'], 'document');
  const salt = vocabulary.indexOf('salt');
  checkNear(
    t,
    vectors.slice(0, embeddingWidth),
    expectedVector([clsId, salt, salt, salt, salt, salt, salt, sepId], 'mean'),
    'a prefix',
  );
  t.equal(tokens, 8 + 3);
  const rowTexts = ['\ud800', 'a\u0000\u0007b', ' \n\t', '漢字', '😀'.repeat(5_000)];
  const { vectors: all } = await opened.embed(rowTexts, 'query');
  t.ok(all.length === rowTexts.length * embeddingWidth && all.every(Number.isFinite));
  const many = Array.from({ length: 3_000 }, (_, i) => (i % 2 === 0 ? 'x' : 'gull'));
  t.equal((await opened.embed(many, 'query')).vectors.length, many.length * embeddingWidth);
});
