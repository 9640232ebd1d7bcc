import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import { WordPiece } from '../text/wordpiece.ts';
import type { Embedder, Embeddings, InputType } from './model.ts';
import { OnnxSession } from './onnx-session.ts';

/** `config.json` of a static embedding's folder; models/train writes it. */
export interface StaticEmbeddingConfig {
  readonly format: 1;
  readonly kind: 'static-embedding';
  /** Changes whenever the same text may get another vector. */
  readonly version: string;
  readonly dimensions: number;
  /** A token that occurs n times in a text counts as n to this power. */
  readonly repetitionExponent: number;
}

/** Entries (distinct tokens of a text) of one run of the graph; a longer text still runs, alone. */
const runEntriesMax = 4_096;

/** Texts of one run as the graph wants them; see models/train/embedding-files.ts. */
class Batch {
  readonly tokens: number[] = [];
  readonly shares: number[] = [];
  readonly rows: number[] = [];
  texts = 0;
}

/** The parts of a static embedding's folder that are not its graph. */
export interface StaticEmbeddingFiles {
  readonly config: StaticEmbeddingConfig;
  readonly pieces: WordPiece;
  /** Token vectors as signed bytes, one row of `config.dimensions` per piece. */
  readonly table: Uint8Array;
}

async function readConfig(folder: string): Promise<StaticEmbeddingConfig> {
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as StaticEmbeddingConfig;
  assert(config.format === 1 && config.kind === 'static-embedding', `${folder} holds a static embedding`);
  return config;
}

async function readVocabulary(folder: string): Promise<WordPiece> {
  const text = await readFile(join(folder, 'vocabulary.txt'), 'utf8');
  return new WordPiece(text.trimEnd().split('\n'));
}

/** Reads the files in `folder` for a reader of token vectors. */
export async function readStaticEmbedding(folder: string): Promise<StaticEmbeddingFiles> {
  const table = await readFile(join(folder, 'table.i8'));
  return { config: await readConfig(folder), pieces: await readVocabulary(folder), table };
}

/** A bag of token vectors: weighted mean plus a prefix of the side, scaled to length 1. Linear in the text. */
export class StaticEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly #session: OnnxSession;
  readonly #pieces: WordPiece;
  readonly #exponent: number;
  /** Scratch: how often each token occurs in the text at hand; all zero between texts. */
  readonly #counts: Int32Array;

  private constructor(id: string, config: StaticEmbeddingConfig, session: OnnxSession, pieces: WordPiece) {
    this.id = id;
    this.dimensions = config.dimensions;
    this.#exponent = config.repetitionExponent;
    this.#session = session;
    this.#pieces = pieces;
    this.#counts = new Int32Array(pieces.size);
  }

  /** Opens the model in `folder` under the name `id`. */
  static async open(id: string, folder: string): Promise<StaticEmbedder> {
    const config = await readConfig(folder);
    const pieces = await readVocabulary(folder);
    const session = await OnnxSession.open(join(folder, 'model.onnx'));
    return new StaticEmbedder(id, config, session, pieces);
  }

  async embed(texts: readonly string[], inputType: InputType): Promise<Embeddings> {
    const vectors = new Float32Array(texts.length * this.dimensions);
    let tokens = 0;
    let first = 0;
    let batch = new Batch();
    for (const [index, text] of texts.entries()) {
      tokens += this.#add(batch, text);
      if (batch.tokens.length < runEntriesMax && index + 1 < texts.length) continue;
      vectors.set(await this.#run(batch, inputType), first * this.dimensions);
      first = index + 1;
      batch = new Batch();
    }
    return { vectors, tokens };
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /** Adds one text to the batch; returns how many tokens it has. */
  #add(batch: Batch, text: string): number {
    const counts = this.#counts;
    const start = batch.tokens.length;
    let tokens = 0;
    this.#pieces.eachToken(text, (id) => {
      if (counts[id] === 0) batch.tokens.push(id);
      counts[id]! += 1;
      tokens += 1;
    });
    let total = 0;
    for (let entry = start; entry < batch.tokens.length; entry += 1) {
      const id = batch.tokens[entry]!;
      const weight = counts[id] === 1 ? 1 : counts[id]! ** this.#exponent;
      counts[id] = 0;
      batch.shares.push(weight);
      batch.rows.push(batch.texts);
      total += weight;
    }
    for (let entry = start; entry < batch.tokens.length; entry += 1) batch.shares[entry]! /= total;
    batch.texts += 1;
    return tokens;
  }

  #run(batch: Batch, inputType: InputType): Promise<Float32Array> {
    const shape = [batch.tokens.length];
    const kinds = new Int32Array(batch.texts).fill(inputType === 'query' ? 0 : 1);
    const inputs = {
      tokens: { data: Int32Array.from(batch.tokens), shape },
      shares: { data: Float32Array.from(batch.shares), shape },
      rows: { data: Int32Array.from(batch.rows), shape },
      kinds: { data: kinds, shape: [batch.texts] },
    };
    return this.#session.run(inputs, 'vectors');
  }
}
