import type { Clock } from '../core/clock.ts';
import type { CollectionIndex, IndexStatistics } from '../index/collection-index.ts';
import type { Collection } from '../storage/collections.ts';
import type { VersionReader } from '../storage/version-reader.ts';

/** Model functions for a query; implemented with `ingest/query-embedder` and `ingest/model-runner`. */
export interface QueryModels {
  /** Returns a unit-length vector. `shared`: the query may wait a little to share a run with others. */
  embed(query: {
    readonly collectionId: string;
    /** Model of the collection's vectors at the start of the query. */
    readonly model: Collection['model'];
    readonly text: string;
    readonly shared: boolean;
  }): Promise<Float32Array>;
  /** Returns one score in 0..1 per text. */
  rerank(model: string, query: string, texts: readonly string[]): Promise<Float32Array>;
  /** Returns one score of the built-in reranker in 0..1 per text; null when too many calls wait for it. */
  measureRelevance(query: string, texts: readonly string[]): Promise<Float32Array | null>;
  /** Returns the weight of the model's scores for a query; the first stage has weight 1. */
  rerankWeight(model: string, query: string): number;
}

/** Methods of an index that a search uses. */
export type SearchableIndex = Pick<
  CollectionIndex,
  | 'commits'
  | 'search'
  | 'searchAndWrite'
  | 'list'
  | 'select'
  | 'listSorted'
  | 'countFacets'
  | 'hasWords'
  | 'countRowsOfTerms'
  | 'findCorrections'
> & {
  statistics(): Pick<IndexStatistics, 'rows'>;
};

/** Methods by which a search reads the documents that it finds. */
export type SearchReader = Pick<
  VersionReader,
  'readRecords' | 'readRows' | 'readFineChunks' | 'readLayout' | 'readPage' | 'readPageChunk'
>;

/** Components that the stages of a search use. */
export interface SearchComponents {
  readonly models: QueryModels;
  /** Returns the shards with the vectors of this generation. Errors: 503 while a collection is loading. */
  readonly getIndex: (collectionId: string, generation: number) => SearchableIndex;
  readonly reader: SearchReader;
  /** Decodes the stored vectors of fine chunks to rows of `dimensions` components. */
  readonly decodeVectors: (codes: Uint8Array, dimensions: number) => Float32Array;
  /** Returns the versions of documents of a collection that have expired and are not deleted yet, ascending. */
  readonly findExpired: (collectionId: string) => Promise<Float64Array>;
  readonly clock: Clock;
  /** Whether a query continues without an unavailable model and reports it; otherwise the query fails. */
  readonly mayDegrade: boolean;
  /**
   * Whether a lower-case word is correct although no document contains it; other unknown words are corrected
   * to spellings that occur in documents. Null: no corrections.
   */
  readonly isKnownWord: ((word: string) => boolean) | null;
}
