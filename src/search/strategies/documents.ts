import { assert } from '../../core/assert.ts';
import type { StoredChunk } from '../../storage/chunks.ts';
import type { Candidate, CandidateList } from '../candidates.ts';
import { readChunks, readRecords, toModelText } from '../chunk-hits.ts';
import { findConstrainedChunks, toTextPredicate } from '../constrained-chunks.ts';
import { noText, toHitOrigin, toMatchedText } from '../hit-origin.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import { readBestChunks, usesProximity } from '../proximity-rescoring.ts';
import type { SearchRequest } from '../query-request.ts';
import type { RankedItem } from '../rerank.ts';
import type { SearchComponents } from '../search-components.ts';
import { depthFor, rerankDepth } from '../search-depth.ts';
import type { DocumentHit } from '../search-result.ts';
import { searchShards } from '../search-shards.ts';
import type { ItemList, WritableStrategy } from './result-strategy.ts';

/** A coarse chunk that stands for its document. */
interface DocumentItem {
  readonly candidate: Candidate;
  /** Null when no later stage needs the text. */
  readonly chunk: StoredChunk | null;
}

/** Maximum depth, however few documents the rows belong to. */
const depthMax = 16_384;

/** Documents, each with the score of its best coarse chunk. */
export const documents: WritableStrategy<DocumentItem, RankedItem<DocumentItem>, DocumentHit> = {
  planReply: ({ request }) => ({ depth: depthForDocuments(request), fine: null }),
  findItems: (components, query) =>
    query.request.control.operators === null
      ? findDocuments(components, query)
      : findAcceptedDocuments(components, query),
  textOf: ({ chunk }) => {
    assert(chunk !== null, 'chunks are read for a reranker');
    return toModelText({ chunk });
  },
  fusedOf: ({ candidate }) => candidate.fused,
  toResults: async (_components, _query, ranked) => ranked,
  limitsOf: ({ k, control: { minScore } }) => ({ k, maxPerDocument: 1, minScore }),
  versionOf: ({ item }) => item.candidate.version,
  keyOf: ({ version }) => String(version.version),
  readHits,
};

/** Returns chunks of at least `k` documents, if that many match. */
async function findDocuments(
  components: SearchComponents,
  query: PreparedQuery,
): Promise<ItemList<DocumentItem>> {
  const { k, reranker } = query.request;
  const candidates = await searchUntilVersions(components, query, k);
  if (reranker === null && !usesProximity(query))
    return { items: selectBestVersions(candidates, k).map(withoutText), candidates };
  const items = await readBestChunks(components, query, candidates, rerankDepth);
  return { items, rest: candidates.best().slice(rerankDepth).map(withoutText), candidates };
}

/** Returns documents with at least one chunk that the operators of the query accept. */
async function findAcceptedDocuments(
  components: SearchComponents,
  query: PreparedQuery,
): Promise<ItemList<DocumentItem>> {
  const isAccepted = toTextPredicate(query.request);
  const { chunkHits, candidates } = await findConstrainedChunks(components, query, {
    depth: depthFor(query.request.k * 2),
    perDocument: 1,
    resultsOf: ({ chunk }) => (isAccepted(chunk.text) ? [''] : []),
  });
  return { items: chunkHits, candidates };
}

/** Returns the depth of the first search for `k` documents. */
function depthForDocuments({ k }: SearchRequest): number {
  return depthFor(k * 2);
}

/** Searches until the candidates have `k` versions, or a deeper search would find no more rows. */
async function searchUntilVersions(
  components: SearchComponents,
  query: PreparedQuery,
  k: number,
): Promise<CandidateList> {
  for (let depth = depthForDocuments(query.request); ; depth *= 4) {
    const candidates = await searchShards(components, query, depth);
    if (depth >= depthMax || candidates.length < depth || candidates.countVersions() >= k) return candidates;
  }
}

/**
 * Returns the best candidate of each version, of at least `k` versions if that many exist. Sorts only as many
 * candidates as needed.
 */
function selectBestVersions(candidates: CandidateList, k: number): Candidate[] {
  for (let count = 2 * k; ; count *= 4) {
    const versions = new Set<number>();
    const best = candidates.best(count).filter(({ version }) => {
      const isFirst = !versions.has(version);
      versions.add(version);
      return isFirst;
    });
    if (count >= candidates.length || best.length >= k) return best;
  }
}

function withoutText(candidate: Candidate): DocumentItem {
  return { candidate, chunk: null };
}

async function readHits(
  components: SearchComponents,
  query: PreparedQuery,
  results: readonly RankedItem<DocumentItem>[],
): Promise<DocumentHit[]> {
  const candidates = results.map(({ item }) => item.candidate);
  const records = await readRecords(
    components,
    query,
    candidates.map(({ version }) => version),
  );
  const texts = query.request.explain
    ? await readTexts(components, query, candidates)
    : new Map<number, StoredChunk>();
  return results.flatMap((result, i) => {
    const version = records[i];
    if (version === undefined) return [];
    const chunk = texts.get(version.version);
    const text = chunk === undefined ? noText : toMatchedText(chunk);
    return [{ version, score: result.score, origin: toHitOrigin(query, result, candidates[i]!, text) }];
  });
}

/** Returns the chunks of candidates by version. */
async function readTexts(
  components: SearchComponents,
  query: PreparedQuery,
  candidates: readonly Candidate[],
): Promise<Map<number, StoredChunk>> {
  const chunkHits = await readChunks(components, query, candidates);
  return new Map(chunkHits.map(({ version, chunk }) => [version.version, chunk]));
}
