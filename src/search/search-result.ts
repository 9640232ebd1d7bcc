import type { IndexHits } from '../index/collection-index.ts';
import type { FacetResult } from '../index/facets.ts';
import type { WrittenReply } from '../index/written-reply.ts';
import type { StoredChunk } from '../storage/chunks.ts';
import type { RowLocation } from '../storage/version-reader.ts';
import type { VersionRecord } from '../storage/versions.ts';
import type { WordMatch } from '../text/query.ts';
import type { Correction } from '../text/spelling-correction.ts';
import type { PastState } from './past-search.ts';
import type { ProximityScores } from './proximity.ts';
import type { SearchControl } from './query-request.ts';
import type { ResultGroup } from './result-groups.ts';

/** The chunk that gave a hit its score. */
export interface HitLocation extends RowLocation {
  /** Index of the fine chunk in the row; null for a whole coarse chunk. */
  readonly fineChunk: number | null;
}

/** Scores and matches that explain a hit. */
export interface HitOrigin {
  /** Null in a listing. */
  readonly location: HitLocation | null;
  readonly lexical: number;
  /** Null in a listing, which compares no vectors. */
  readonly similarity: number | null;
  readonly fused: number;
  readonly rerank: number | null;
  /** Null without proximity rescoring. */
  readonly proximity: ProximityScores | null;
  /** Query words that the text contains; only with `explain`. */
  readonly matches: readonly WordMatch[];
  /** Returns the words of all queries of the request that a text of the hit contains. */
  readonly matchesIn: (text: string) => readonly WordMatch[];
  /** Returns the text that a reranker reads. */
  readonly modelText: () => string;
  /** Score of the built-in reranker, 0..1; null if it was not measured. */
  readonly relevance: number | null;
  /** Factor of the score by the age of the document; absent without a boost. */
  readonly boost?: number;
  /** Whether a curation pinned the hit; absent: no. */
  readonly pinned?: boolean;
}

export interface Hit {
  readonly version: VersionRecord;
  readonly score: number;
  readonly origin: HitOrigin;
}

export interface SnippetHit extends Hit {
  readonly snippet: Snippet;
  /** Index of its coarse chunk among the indexed rows of its document. */
  readonly row: number;
}

/** A whole stored chunk or a part of one. */
export type Snippet = Pick<StoredChunk, 'text' | 'start' | 'end' | 'pageStart' | 'pageEnd'>;

export interface PageHit extends Hit {
  readonly pageIndex: number;
  /** Those of the rows read for the query that are on this page only. */
  readonly rows: readonly number[];
}

export type DocumentHit = Hit;

/** Facts about a query that has ended, without its hits. */
export interface QueryOutcome {
  readonly hits: { readonly length: number };
  /** Creates the plan of each shard on access; none for a listing. */
  readonly candidates: Pick<IndexHits, 'shards'>;
  readonly times: SearchTimes;
  /** Model usage; a listing uses none. */
  readonly models: ModelStats;
  readonly selection: SelectionStats;
  /** The state of the collection that was searched; absent if it keeps no history or nothing explains it. */
  readonly moment?: SearchedMoment;
}

/** State of a collection that was searched. */
export interface SearchedMoment {
  /** See `Moments`; null if the caller must not learn it. */
  readonly text: string | null;
  /** Null for the present. */
  readonly past: PastState | null;
}

/** Result of a query whose reply the engine has written. */
export interface WrittenResult extends QueryOutcome {
  readonly written: WrittenReply;
}

export interface SearchResult<H> extends QueryOutcome {
  /** Best first. */
  readonly hits: H[];
  /** The coarse chunks whose fine chunks were scored; absent if none were. */
  readonly parents?: readonly RowLocation[];
  /** Whether a hit is relevant to the query; null if relevance was not measured. Measured with `explain`. */
  readonly goodMatch: boolean | null;
  readonly control: SearchControl;
  /** Counts of the requested facets; absent or null without facets. */
  readonly facets?: readonly FacetResult[] | null;
  /** Groups of the hits, in their order; absent or null without groups. */
  readonly groups?: readonly ResultGroup[] | null;
  /** Cursor of the next page; null after the last page and for a query without pages. */
  readonly nextCursor?: string | null;
  /** Words searched in a corrected spelling. */
  readonly corrections: readonly Correction[];
}

/** Time of a query by stage, in milliseconds. */
export interface SearchTimes {
  embed: number;
  search: number;
  rerank: number;
  read: number;
}

/** Statistics of selecting results under the constraints of a query. */
export interface SelectionStats {
  /** Number of chunks read. */
  readonly checked: number;
  /** False when the search ended at its limits, so that more results may exist. */
  readonly complete: boolean;
  /** Number of chunks rescored by proximity. */
  readonly rescored: number;
}

export interface ModelStats {
  readonly embedded: boolean;
  /** Number of texts scored by the reranker. */
  readonly reranked: number;
  /** Unavailable models, with reasons. */
  readonly missing: readonly MissingModel[];
}

export interface MissingModel {
  readonly part: 'vector' | 'rerank';
  readonly model: string;
  readonly reason: string;
}
