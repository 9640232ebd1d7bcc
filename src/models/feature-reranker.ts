import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../core/assert.ts';
import { IdfTable } from './idf-table.ts';
import type { Reranker, RerankScores } from './model.ts';
import { OnnxSession } from './onnx-session.ts';
import { featureCount, RerankFeatureBuilder } from './rerank-features.ts';
import { readStaticEmbedding, StaticEmbedder } from './static-embedder.ts';
import { TokenVectorTable } from './token-vector-table.ts';

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
 * Documents per network run; the last run is padded with zeros. A single shape fixes the order of additions,
 * so that a score does not depend on the number of documents in the request.
 */
const batchDocuments = 64;

/** Computes the network inputs from texts. The trainer uses it without a network. */
export class FeatureExtractor {
  readonly #embedder: StaticEmbedder;
  readonly #features: RerankFeatureBuilder;

  constructor(embedder: StaticEmbedder, features: RerankFeatureBuilder) {
    this.#embedder = embedder;
    this.#features = features;
  }

  /** Opens the embedding in `embeddingFolder` and the IDF table in `idfFile`. */
  static async open(embeddingFolder: string, idfFile: string): Promise<FeatureExtractor> {
    const { config, pieces, table } = await readStaticEmbedding(embeddingFolder);
    const idfTable = new IdfTable(await readFile(idfFile));
    const embedder = await StaticEmbedder.open('features', embeddingFolder);
    return new FeatureExtractor(
      embedder,
      new RerankFeatureBuilder(idfTable, new TokenVectorTable(table, config.dimensions, pieces), pieces),
    );
  }

  /**
   * Returns the features of every document for one query, [documents x featureCount], and the token count of
   * all texts.
   */
  async extract(
    query: string,
    documents: readonly string[],
  ): Promise<{ features: Float32Array; tokens: number }> {
    const queryEmbedding = await this.#embedder.embed([query], 'query');
    const documentEmbeddings = await this.#embedder.embed(documents, 'document');
    const preparedQuery = this.#features.prepareQuery(query);
    const features = new Float32Array(documents.length * featureCount);
    const width = this.#embedder.dimensions;
    for (const [index, document] of documents.entries()) {
      let cosine = 0;
      for (let i = 0; i < width; i += 1)
        cosine += queryEmbedding.vectors[i]! * documentEmbeddings.vectors[index * width + i]!;
      this.#features.writeFeatures(preparedQuery, document, cosine, features, index * featureCount);
    }
    return { features, tokens: queryEmbedding.tokens + documentEmbeddings.tokens };
  }

  close(): Promise<void> {
    return this.#embedder.close();
  }
}

/**
 * Reranker that runs a small network over features of a query-document pair: word matches, their IDF, order
 * and proximity, and soft matches.
 */
export class FeatureReranker implements Reranker {
  readonly id: string;
  readonly #extractor: FeatureExtractor;
  readonly #session: OnnxSession;

  private constructor(id: string, reader: FeatureExtractor, session: OnnxSession) {
    this.id = id;
    this.#extractor = reader;
    this.#session = session;
  }

  /** Opens the reranker in `folder` under the name `id`. */
  static async open(id: string, folder: string): Promise<FeatureReranker> {
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as FeatureRerankerConfig;
    assert(
      config.format === 1 && config.kind === 'feature-reranker',
      `${folder} contains a feature reranker`,
    );
    assert(config.features === featureCount, 'the network was trained for the features of this program');
    const reader = await FeatureExtractor.open(
      join(folder, '..', config.embedding),
      join(folder, 'rarity.bin'),
    );
    return new FeatureReranker(id, reader, await OnnxSession.open(join(folder, 'model.onnx')));
  }

  async score(query: string, documents: readonly string[]): Promise<RerankScores> {
    const { features, tokens } = await this.#extractor.extract(query, documents);
    const scores = new Float32Array(documents.length);
    for (let start = 0; start < documents.length; start += batchDocuments) {
      const data = new Float32Array(batchDocuments * featureCount);
      data.set(features.subarray(start * featureCount, (start + batchDocuments) * featureCount));
      const input = { data, shape: [batchDocuments, featureCount] };
      const part = await this.#session.run({ features: input }, 'scores');
      scores.set(part.subarray(0, documents.length - start), start);
    }
    return { scores, tokens };
  }

  async close(): Promise<void> {
    await this.#extractor.close();
    await this.#session.close();
  }
}
