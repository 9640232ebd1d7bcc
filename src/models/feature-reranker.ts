import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../core/assert.ts';
import { NativeReranker, type NativeRerankScores } from '../text/native-reranker.ts';
import { stopWords } from '../text/stop-words.ts';
import type { Reranker, RerankScores } from './model.ts';
import { readOnnxFloats } from './onnx-constants.ts';
import { openTokenBag, type StaticEmbedder } from './static-embedder.ts';

/** `config.json` in the folder of a feature reranker; written by models/train. */
export interface FeatureRerankerConfig {
  readonly format: 1;
  readonly kind: 'feature-reranker';
  readonly version: string;
  /** Sibling folder of the static embedding whose token table and vectors the features use. */
  readonly embedding: string;
  /** Number of network inputs. */
  readonly features: number;
}

/**
 * Reranker that runs a small network over features of a query-document pair: word matches, their IDF, order
 * and proximity, and soft matches. The computation runs in native/text; models/train/rerank-features.ts
 * defines the features.
 */
export class FeatureReranker implements Reranker {
  readonly id: string;
  #model: NativeReranker | null;

  private constructor(id: string, model: NativeReranker) {
    this.id = id;
    this.#model = model;
  }

  /**
   * Opens the reranker in `folder` under the name `id`. If `embedder` is the static embedding that it uses, its files are
   * not read again, which takes half of the time.
   */
  static async open(
    id: string,
    folder: string,
    embedder: StaticEmbedder | null = null,
  ): Promise<FeatureReranker> {
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as FeatureRerankerConfig;
    assert(
      config.format === 1 && config.kind === 'feature-reranker',
      `${folder} contains a feature reranker`,
    );
    const bag =
      embedder?.id === config.embedding
        ? embedder.bag
        : await openTokenBag(join(folder, '..', config.embedding));
    const graph = await readFile(join(folder, 'model.onnx'));
    const floats = (name: string) => readOnnxFloats(graph, name);
    const mean = floats('mean');
    assert(config.features === mean.length, 'the network has the inputs that its configuration declares');
    const model = new NativeReranker(bag, {
      idf: await readFile(join(folder, 'rarity.bin')),
      functionWords: stopWords.en.split(/\s+/),
      network: {
        mean,
        deviation: floats('deviation'),
        lowest: floats('lowest')[0]!,
        highest: floats('highest')[0]!,
        inner: floats('inner'),
        innerBias: floats('innerBias'),
        out: floats('out'),
        outBias: floats('outBias')[0]!,
      },
    });
    return new FeatureReranker(id, model);
  }

  async score(query: string, documents: readonly string[]): Promise<RerankScores> {
    const { scores, queryTokens, documentTokens } = await this.scoreAt('urgent', query, documents);
    return { scores, tokens: queryTokens + documentTokens };
  }

  /** Same as `score`, with separate token counts. Errors: 503 when too many calls wait. */
  async scoreAt(
    priority: 'urgent' | 'background',
    query: string,
    documents: readonly string[],
  ): Promise<NativeRerankScores> {
    assert(this.#model !== null, 'the model is open');
    return this.#model.score(query, documents, priority);
  }

  /** Returns the inputs of the network, one row per document. */
  computeFeatures(query: string, documents: readonly string[]): Float32Array {
    assert(this.#model !== null, 'the model is open');
    return this.#model.computeFeatures(query, documents);
  }

  async close(): Promise<void> {
    this.#model = null;
  }
}
