import type { CollectionIndex, FilterNode, IndexHits } from '../engine/collection-index.ts';
import type { AnalysedQuery } from '../text/query.ts';
import { askIndex } from './ask-index.ts';
import { fuse } from './fuse.ts';

/** A coarse chunk that may answer the query, with what each side of the search thinks of it. */
export interface Candidate {
  readonly version: number;
  /** Number of the coarse chunk among the indexed rows of its document. */
  readonly row: number;
  /** BM25 over the whole collection; 0 when no word matches. */
  readonly lexical: number;
  /** Cosine between query and chunk. */
  readonly similarity: number;
  /** Both fused, 0..1; what the list is sorted by. */
  readonly fused: number;
}

export interface CandidateRequest {
  /** Unit length, as wide as the index. */
  readonly vector: Float32Array;
  readonly analysed: AnalysedQuery;
  readonly filter: FilterNode | null;
  /** How many rows each side hands in. */
  readonly depth: number;
  /** Search wider: better answers for more time (`latency_mode: high`). */
  readonly wide: boolean;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export interface CandidateList {
  readonly candidates: Candidate[];
  readonly shards: IndexHits['shards'];
}

/** How much wider `latency_mode: high` looks. */
const wideFactor = 3;

/** The fused first stage over all shards, best first. Equal scores keep one fixed order, whatever the shard count. */
export async function findCandidates(
  index: CollectionIndex,
  request: CandidateRequest,
): Promise<CandidateList> {
  const depth = request.wide ? request.depth * wideFactor : request.depth;
  const { vector, analysed, filter, deadlineMs, signal } = request;
  const query = { vector, terms: analysed.terms, filter, deadlineMs, signal };
  const hits = await askIndex(signal, () =>
    index.search({ ...query, vectorCandidates: depth, lexicalCandidates: depth }),
  );
  const fused = fuse(hits.lexical, hits.similarity);
  const candidates = Array.from({ length: hits.count }, (_, i) => ({
    version: hits.version[i]!,
    row: hits.chunk[i]!,
    lexical: hits.lexical[i]!,
    similarity: hits.similarity[i]!,
    fused: fused[i]!,
  }));
  candidates.sort((a, b) => b.fused - a.fused || a.version - b.version || a.row - b.row);
  return { candidates, shards: hits.shards };
}
