import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { IndexHits } from '../index/collection-index.ts';
import type { LexicalQuery } from '../text/query.ts';
import type { Correction } from '../text/spelling-correction.ts';
import type { Weights } from './fuse.ts';
import type { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';

export interface AnalyzedQuery {
  readonly lexicalQuery: LexicalQuery;
  /** Query text for models. */
  readonly text: string;
  readonly corrections: readonly Correction[];
}

/** Hits of a search of the shards. */
export interface FoundHits {
  readonly depth: number;
  readonly hits: IndexHits;
}

/** A query after analysis and embedding, as all later stages receive it. Only the recorder changes. */
export interface PreparedQuery extends AnalyzedQuery {
  /** Null for lexical scoring only. */
  readonly vector: Float32Array | null;
  /** Generation of the collection's vectors that the query is compared with. */
  readonly generation: number;
  readonly weights: Weights;
  readonly yieldToEventLoop: YieldToEventLoop;
  readonly request: SearchRequest;
  /** Words of all queries of the request, which highlights mark. */
  readonly highlightedWords: readonly LexicalQuery[];
  /** Hits of a search that has already run; null for none. */
  readonly found: FoundHits | null;
  readonly recorder: QueryRecorder;
}
