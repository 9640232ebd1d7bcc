import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type ElementType,
  encodeModel,
  type NodeDescription,
  type TensorData,
  toBytes,
  type ValueInfoDescription,
} from '../../models/train/onnx.ts';
import type { Test } from '../support/tap.ts';

/** Small models in the Hugging Face layout with known weights. */

export const vocabulary = [
  '[PAD]',
  '[UNK]',
  '[CLS]',
  '[SEP]',
  'yes',
  'no',
  'herring',
  'salt',
  'gull',
  'tide',
  'barrel',
  '##s',
];
export const embeddingWidth = 6;
export const [clsId, sepId] = [2, 3] as const;

/** Component `i` of the vector of a token. */
export function vectorComponent(id: number, i: number): number {
  return Math.sin(1 + id * 7.3 + i * 1.7);
}

/** Token ids of a text whose words are tokens, between the special tokens. */
export function tokenIdsOf(text: string): number[] {
  const ids = text
    .split(' ')
    .filter(Boolean)
    .map((word) => Math.max(1, vocabulary.indexOf(word)));
  return [clsId, ...ids, sepId];
}

/** BERT tokenizer, implemented by the native library. */
export const bertTokenizer = {
  version: '1.0',
  added_tokens: vocabulary.slice(0, 4).map((content, id) => ({
    id,
    content,
    special: true,
    normalized: false,
    single_word: false,
    lstrip: false,
    rstrip: false,
  })),
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [specialTokenPart('[CLS]', 0), sequencePart('A', 0), specialTokenPart('[SEP]', 0)],
    pair: [
      specialTokenPart('[CLS]', 0),
      sequencePart('A', 0),
      specialTokenPart('[SEP]', 0),
      sequencePart('B', 1),
      specialTokenPart('[SEP]', 1),
    ],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [clsId], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [sepId], tokens: ['[SEP]'] },
    },
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
  },
};

/** Unigram (SentencePiece) tokenizer, implemented only by the JavaScript library. */
export const unigramTokenizer = {
  ...bertTokenizer,
  normalizer: null,
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', add_prefix_space: true, prepend_scheme: 'always' },
  model: {
    type: 'Unigram',
    unk_id: 1,
    vocab: vocabulary.map((word, id) => [id > 3 ? `▁${word}` : word, -id]),
  },
  decoder: { type: 'Metaspace', replacement: '▁', add_prefix_space: true },
};

function specialTokenPart(id: string, type: number) {
  return { SpecialToken: { id, type_id: type } };
}

function sequencePart(id: string, type: number) {
  return { Sequence: { id, type_id: type } };
}

export interface GraphOptions {
  readonly nodes: readonly NodeDescription[];
  readonly constants?: readonly TensorData[];
  readonly outputs: readonly ValueInfoDescription[];
  readonly inputs?: readonly string[];
  readonly inputType?: ElementType;
}

export function buildGraph({
  nodes,
  constants = [],
  outputs,
  inputs,
  inputType = 'int64',
}: GraphOptions): Uint8Array {
  const names = inputs ?? ['input_ids', 'attention_mask'];
  return encodeModel({
    name: 'small',
    documentation: 'made by a test',
    constants,
    nodes,
    outputs,
    inputs: names.map((name) => ({ name, type: inputType, shape: ['texts', 'tokens'] })),
  });
}

export function floatTensor(name: string, shape: readonly number[], values: readonly number[]): TensorData {
  return { name, type: 'float', shape, data: toBytes(Float32Array.from(values)) };
}

/** Node that looks up the row of each token in the constant `table`. */
export function gatherRows(output: string): NodeDescription {
  return { operator: 'Gather', inputs: ['table', 'input_ids'], outputs: [output] };
}

/** Graph that returns the vector of each token: `last_hidden_state`. */
export function tokenVectorsGraph(name = 'last_hidden_state', inputType: ElementType = 'int64'): Uint8Array {
  const table = vocabulary.flatMap((_, id) =>
    Array.from({ length: embeddingWidth }, (__, i) => vectorComponent(id, i)),
  );
  return buildGraph({
    inputType,
    constants: [floatTensor('table', [vocabulary.length, embeddingWidth], table)],
    nodes: [gatherRows(name)],
    outputs: [{ name, type: 'float', shape: ['texts', 'tokens', embeddingWidth] }],
  });
}

/** Graph with the same vectors from signed bytes, like a quantized model. */
export function quantizedTokenVectorsGraph(): Uint8Array {
  const codes = Int8Array.from(
    vocabulary.flatMap((_, id) =>
      Array.from({ length: embeddingWidth }, (__, i) => Math.round(127 * vectorComponent(id, i))),
    ),
  );
  return buildGraph({
    constants: [
      { name: 'codes', type: 'int8', shape: [vocabulary.length, embeddingWidth], data: toBytes(codes) },
      floatTensor('step', [], [1 / 127]),
    ],
    nodes: [
      { operator: 'Gather', inputs: ['codes', 'input_ids'], outputs: ['rows'] },
      { operator: 'Cast', inputs: ['rows'], outputs: ['wide'], attributes: { to: 1 } },
      { operator: 'Mul', inputs: ['wide', 'step'], outputs: ['last_hidden_state'] },
    ],
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', embeddingWidth] }],
  });
}

/** Graph with the same vectors in an external file. */
export function graphWithExternalWeights(file: string): Uint8Array {
  const shape = [vocabulary.length, embeddingWidth];
  return buildGraph({
    constants: [{ name: 'table', type: 'float', shape, data: { file, bytes: externalWeights.length } }],
    nodes: [gatherRows('last_hidden_state')],
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', embeddingWidth] }],
  });
}

/** Content of the file of `graphWithExternalWeights`. */
export const externalWeights = new Uint8Array(
  Float32Array.from(
    vocabulary.flatMap((_, id) => Array.from({ length: embeddingWidth }, (__, i) => vectorComponent(id, i))),
  ).buffer,
);

/** Graph that sums a weight of each token of the second text: `logits` with `classes` columns; of two, column 0 is 0. */
export function weightedTokensGraph(weights: readonly number[], classes: 1 | 2 = 1): Uint8Array {
  const table = weights.flatMap((weight) => (classes === 1 ? [weight] : [0, weight]));
  return buildGraph({
    inputs: ['input_ids', 'attention_mask', 'token_type_ids'],
    constants: [
      floatTensor('table', [vocabulary.length, classes], table),
      { name: 'tokens', type: 'int64', shape: [1], data: toBytes(BigInt64Array.of(1n)) },
      { name: 'last', type: 'int64', shape: [1], data: toBytes(BigInt64Array.of(-1n)) },
    ],
    nodes: [
      { operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['rows'] },
      { operator: 'Cast', inputs: ['token_type_ids'], outputs: ['second'], attributes: { to: 1 } },
      { operator: 'Unsqueeze', inputs: ['second', 'last'], outputs: ['column'] },
      { operator: 'Mul', inputs: ['rows', 'column'], outputs: ['counted'] },
      {
        operator: 'ReduceSum',
        inputs: ['counted', 'tokens'],
        outputs: ['logits'],
        attributes: { keepdims: 0 },
      },
    ],
    outputs: [{ name: 'logits', type: 'float', shape: ['texts', classes] }],
  });
}

/** Language model graph: for each token, a row of logits over all tokens. */
export function nextTokenGraph(odds: (id: number, next: number) => number): Uint8Array {
  const table = vocabulary.flatMap((_, id) => vocabulary.map((__, next) => odds(id, next)));
  return buildGraph({
    constants: [floatTensor('table', [vocabulary.length, vocabulary.length], table)],
    nodes: [gatherRows('logits')],
    outputs: [{ name: 'logits', type: 'float', shape: ['texts', 'tokens', vocabulary.length] }],
  });
}

export const config = { model_type: 'bert', hidden_size: embeddingWidth, max_position_embeddings: 32 };

/** Writes files to a temporary folder `name`; objects become JSON, and null omits a file. */
export function writeModelFolder(
  t: Test,
  files: Readonly<Record<string, Uint8Array | string | object | null>>,
  name = 'small-model',
): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'quarry-model-')), name);
  t.teardown(() => rmSync(dirname(folder), { recursive: true, force: true }));
  mkdirSync(folder);
  const all = {
    'config.json': config,
    'tokenizer.json': bertTokenizer,
    'model.onnx': tokenVectorsGraph(),
    ...files,
  };
  for (const [file, content] of Object.entries(all)) {
    if (content === null) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    const isData = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(join(folder, file), isData ? content : JSON.stringify(content));
  }
  return folder;
}
