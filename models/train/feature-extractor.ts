import { readFile } from 'node:fs/promises';
import { IdfTable } from '../../src/models/idf-table.ts';
import { readStaticEmbedding, StaticEmbedder } from '../../src/models/static-embedder.ts';
import { featureCount, RerankFeatureBuilder } from './rerank-features.ts';
import { TokenVectorTable } from './token-vector-table.ts';

/** Computes the network inputs from texts; the reference for native/text, which computes them for a server. */
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
