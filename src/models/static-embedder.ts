import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../core/assert.ts';
import { BertTokenizer, type BertTokenizerJson } from '../text/bert-tokenizer.ts';
import { TokenBag } from '../text/token-bag.ts';
import { WordPiece } from '../text/wordpiece.ts';
import type { ChunkEmbeddingInput, ChunkVectors, Embedder, Embeddings, InputType } from './model.ts';
import { readOnnxFloats } from './onnx-constants.ts';

/** `config.json` in the folder of a static embedding; written by models/train. */
export interface StaticEmbeddingConfig {
  readonly format: 1;
  readonly kind: 'static-embedding';
  /** Changes whenever the same text may get a different vector. */
  readonly version: string;
  readonly dimensions: number;
  /** A token that occurs n times in a text has the weight n to this power. */
  readonly repetitionExponent: number;
  /**
   * `bert`: the text is tokenized as the folder's `tokenizer.json` defines. Absent: built-in rules with
   * `vocabulary.txt`.
   */
  readonly tokenizer?: 'bert';
}

/** Files of a static embedding's folder, except its graph. */
export interface StaticEmbeddingFiles {
  readonly config: StaticEmbeddingConfig;
  readonly pieces: WordPiece;
  /** Token vectors as signed bytes, one row of `config.dimensions` per token piece. */
  readonly table: Uint8Array;
}

async function readConfig(folder: string): Promise<StaticEmbeddingConfig> {
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as StaticEmbeddingConfig;
  assert(config.format === 1 && config.kind === 'static-embedding', `${folder} contains a static embedding`);
  return config;
}

async function readVocabulary(folder: string): Promise<WordPiece> {
  const text = await readFile(join(folder, 'vocabulary.txt'), 'utf8');
  return new WordPiece(text.trimEnd().split('\n'));
}

async function readBertTokenizer(folder: string): Promise<BertTokenizer> {
  const text = await readFile(join(folder, 'tokenizer.json'), 'utf8');
  return new BertTokenizer(JSON.parse(text) as BertTokenizerJson);
}

async function readTokenBag(
  folder: string,
  { dimensions, repetitionExponent }: StaticEmbeddingConfig,
  pieces: BertTokenizer | WordPiece,
): Promise<TokenBag> {
  const codes = await readFile(join(folder, 'table.i8'));
  const graph = await readFile(join(folder, 'model.onnx'));
  const weights = readOnnxFloats(graph, 'weights');
  const prefixes = readOnnxFloats(graph, 'prefixes');
  return new TokenBag(pieces, { dimensions, repetitionExponent, codes, weights, prefixes });
}

/** Opens the token bag in `folder`, which must use the built-in tokenizer. */
export async function openTokenBag(folder: string): Promise<TokenBag> {
  const config = await readConfig(folder);
  assert(config.tokenizer === undefined, `${folder} uses the built-in tokenizer`);
  return readTokenBag(folder, config, await readVocabulary(folder));
}

/** Reads the files in `folder` that are needed to access token vectors. */
export async function readStaticEmbedding(folder: string): Promise<StaticEmbeddingFiles> {
  const table = await readFile(join(folder, 'table.i8'));
  return { config: await readConfig(folder), pieces: await readVocabulary(folder), table };
}

/**
 * Bag of token vectors: weighted mean plus a vector for the input type, scaled to length 1. Time is linear in
 * the length of the text. The computation runs in native/text, which gives the same bytes as the model's ONNX
 * graph. All threads of the process share the model.
 */
export class StaticEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  #model: TokenBag | null;

  private constructor(id: string, dimensions: number, model: TokenBag) {
    this.id = id;
    this.dimensions = dimensions;
    this.#model = model;
  }

  /** Opens the model in `folder` under the name `id`. */
  static async open(id: string, folder: string): Promise<StaticEmbedder> {
    const config = await readConfig(folder);
    const pieces =
      config.tokenizer === 'bert' ? await readBertTokenizer(folder) : await readVocabulary(folder);
    return new StaticEmbedder(id, config.dimensions, await readTokenBag(folder, config, pieces));
  }

  /** Tokens and vectors of the open model. */
  get bag(): TokenBag {
    assert(this.#model !== null, 'the model is open');
    return this.#model;
  }

  async embed(texts: readonly string[], inputType: InputType): Promise<Embeddings> {
    return this.embedSync(texts, inputType);
  }

  embedSync(texts: readonly string[], inputType: InputType): Embeddings {
    return this.bag.embed(texts, inputType);
  }

  embedChunks(chunks: readonly ChunkEmbeddingInput[]): ChunkVectors {
    const { bag } = this;
    const counts = Uint32Array.from(chunks, ({ children }) => children.length);
    const spans = new Uint32Array(2 * counts.reduce((sum, count) => sum + count, 0));
    let at = 0;
    for (const { children } of chunks) {
      for (const { start, end } of children) {
        spans[at] = start;
        spans[at + 1] = end;
        at += 2;
      }
    }
    const headings = chunks.map(({ prefix }) => prefix);
    const texts = chunks.map(({ text }) => text);
    return bag.embedWithParts(headings, texts, { spans, counts });
  }

  async close(): Promise<void> {
    this.#model = null;
  }
}
