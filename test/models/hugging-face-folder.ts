import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import {
  bytesOf,
  type ElementType,
  encodeModel,
  type NodeDescription,
  type PortDescription,
  type TensorData,
} from '../../models/train/onnx.ts';

/** Small models in the layout of Hugging Face, whose every number is known. */

export const words = [
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
export const width = 6;
export const [clsId, sepId] = [2, 3] as const;

/** Component `i` of the vector of a token. */
export function component(id: number, i: number): number {
  return Math.sin(1 + id * 7.3 + i * 1.7);
}

/** Ids of words that are tokens, between the special ones. */
export function idsOf(text: string): number[] {
  const ids = text
    .split(' ')
    .filter(Boolean)
    .map((word) => Math.max(1, words.indexOf(word)));
  return [clsId, ...ids, sepId];
}

/** BERT's way: the native library knows it. */
export const bertTokenizer = {
  version: '1.0',
  added_tokens: words.slice(0, 4).map((content, id) => ({
    ...{ id, content, special: true, normalized: false },
    ...{ single_word: false, lstrip: false, rstrip: false },
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
    single: [special('[CLS]', 0), sequence('A', 0), special('[SEP]', 0)],
    pair: [special('[CLS]', 0), sequence('A', 0), special('[SEP]', 0), sequence('B', 1), special('[SEP]', 1)],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [clsId], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [sepId], tokens: ['[SEP]'] },
    },
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    ...{
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
    },
    vocab: Object.fromEntries(words.map((word, id) => [word, id])),
  },
};

/** SentencePiece's way: only the JavaScript library knows it. */
export const unigramTokenizer = {
  ...bertTokenizer,
  normalizer: null,
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', add_prefix_space: true, prepend_scheme: 'always' },
  model: {
    ...{ type: 'Unigram', unk_id: 1 },
    vocab: words.map((word, id) => [id > 3 ? `▁${word}` : word, -id]),
  },
  decoder: { type: 'Metaspace', replacement: '▁', add_prefix_space: true },
};

function special(id: string, type: number) {
  return { SpecialToken: { id, type_id: type } };
}

function sequence(id: string, type: number) {
  return { Sequence: { id, type_id: type } };
}

export interface GraphOptions {
  readonly nodes: readonly NodeDescription[];
  readonly constants?: readonly TensorData[];
  readonly outputs: readonly PortDescription[];
  readonly inputs?: readonly string[];
  readonly inputType?: ElementType;
}

export function graphOf({
  nodes,
  constants = [],
  outputs,
  inputs,
  inputType = 'int64',
}: GraphOptions): Uint8Array {
  const names = inputs ?? ['input_ids', 'attention_mask'];
  return encodeModel({
    ...{ name: 'small', documentation: 'made by a test', constants, nodes, outputs },
    inputs: names.map((name) => ({ name, type: inputType, shape: ['texts', 'tokens'] })),
  });
}

export function floats(name: string, shape: readonly number[], values: readonly number[]): TensorData {
  return { name, type: 'float', shape, data: bytesOf(Float32Array.from(values)) };
}

/** The vector of each token: `last_hidden_state`. */
export function tokenVectors(name = 'last_hidden_state', inputType: ElementType = 'int64'): Uint8Array {
  const table = words.flatMap((_, id) => Array.from({ length: width }, (__, i) => component(id, i)));
  return graphOf({
    inputType,
    constants: [floats('table', [words.length, width], table)],
    nodes: [{ operator: 'Gather', inputs: ['table', 'input_ids'], outputs: [name] }],
    outputs: [{ name, type: 'float', shape: ['texts', 'tokens', width] }],
  });
}

/** The same vectors from signed bytes: a variant as quantised models are. */
export function quantisedVectors(): Uint8Array {
  const codes = Int8Array.from(
    words.flatMap((_, id) => Array.from({ length: width }, (__, i) => Math.round(127 * component(id, i)))),
  );
  return graphOf({
    constants: [
      { name: 'codes', type: 'int8', shape: [words.length, width], data: bytesOf(codes) },
      floats('step', [], [1 / 127]),
    ],
    nodes: [
      { operator: 'Gather', inputs: ['codes', 'input_ids'], outputs: ['rows'] },
      { operator: 'Cast', inputs: ['rows'], outputs: ['wide'], attributes: { to: 1 } },
      { operator: 'Mul', inputs: ['wide', 'step'], outputs: ['last_hidden_state'] },
    ],
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', width] }],
  });
}

/** Adds up a weight of each token of the second text: `logits` with `classes` columns, column 0 all zeros of two. */
export function weighedTokens(weights: readonly number[], classes: 1 | 2 = 1): Uint8Array {
  const table = weights.flatMap((weight) => (classes === 1 ? [weight] : [0, weight]));
  return graphOf({
    inputs: ['input_ids', 'attention_mask', 'token_type_ids'],
    constants: [
      floats('table', [words.length, classes], table),
      { name: 'tokens', type: 'int64', shape: [1], data: bytesOf(BigInt64Array.of(1n)) },
      { name: 'last', type: 'int64', shape: [1], data: bytesOf(BigInt64Array.of(-1n)) },
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

/** What a language model would say next: for each token a row of odds over all tokens. */
export function nextTokens(odds: (id: number, next: number) => number): Uint8Array {
  const table = words.flatMap((_, id) => words.map((__, next) => odds(id, next)));
  return graphOf({
    constants: [floats('table', [words.length, words.length], table)],
    nodes: [{ operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['logits'] }],
    outputs: [{ name: 'logits', type: 'float', shape: ['texts', 'tokens', words.length] }],
  });
}

export const config = { model_type: 'bert', hidden_size: width, max_position_embeddings: 32 };

/** Writes files below a temporary folder `name`; objects become JSON, and null is no file. */
export function folderOf(
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
    'model.onnx': tokenVectors(),
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
