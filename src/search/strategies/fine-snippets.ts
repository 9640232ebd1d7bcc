import type { StoredChunk } from '../../storage/chunks.ts';
import type { VersionRecord } from '../../storage/versions.ts';
import { type ChunkHit, readChunks } from '../chunk-hits.ts';
import {
  findConstrainedChunks,
  hasConstraints,
  oversamplingFor,
  oversamplingMax,
  toTextPredicate,
} from '../constrained-chunks.ts';
import { type ScoredFineChunk, scoreFineChunks, toFineSpec } from '../fine-chunks.ts';
import { toHitOrigin } from '../hit-origin.ts';
import { findPage } from '../page-lookup.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import { rankBest } from '../proximity-rescoring.ts';
import type { RankedItem } from '../rerank.ts';
import type { SearchComponents } from '../search-components.ts';
import { depthFor, poolSizeFor } from '../search-depth.ts';
import type { SnippetHit } from '../search-result.ts';
import { searchShards } from '../search-shards.ts';
import { limitResults } from '../selection.ts';
import { type ItemList, toResultLimits, type WritableStrategy } from './result-strategy.ts';

/**
 * Number of coarse chunks whose fine chunks are scored: at least `parentsMin`, or one per
 * `fineChunksPerParent` results.
 */
const parentsMin = 32;
const fineChunksPerParent = 3;

/** A fine chunk with its stored coarse chunk. */
interface FineChunkHit extends ScoredFineChunk {
  readonly parent: ChunkHit;
}

/** Fine chunks of about 200 characters: the children of the best coarse chunks. */
export const fineSnippets: WritableStrategy<FineChunkHit, RankedItem<FineChunkHit>, SnippetHit> = {
  planReply: (query) => {
    const { parentsWanted, depth } = parentLimits(query.request.k);
    return { depth, fine: toFineSpec(query, parentsWanted) };
  },
  findItems: findBestFineChunks,
  textOf: textWithNeighbors,
  fusedOf: ({ score }) => score,
  toResults: async (_components, _query, ranked) => ranked,
  limitsOf: toResultLimits,
  versionOf: ({ item }) => item.candidate.version,
  keyOf: ({ version, snippet }) => `${version.version} ${snippet.start}`,
  readHits: async (components, query, results) =>
    results.map((result) => toHit(components.reader, query, result)),
};

async function findBestFineChunks(
  components: SearchComponents,
  query: PreparedQuery,
): Promise<ItemList<FineChunkHit>> {
  return hasConstraints(query.request)
    ? findConstrainedFineChunks(components, query)
    : findFineChunks(components, query);
}

async function findFineChunks(
  components: SearchComponents,
  query: PreparedQuery,
): Promise<ItemList<FineChunkHit>> {
  const { request } = query;
  const { parentsWanted, depth } = parentLimits(request.k);
  const candidates = await searchShards(components, query, depth);
  const poolSize = poolSizeFor(request);
  let parents = await rankBest(components, query, candidates, parentsWanted);
  let scores = await scoreFineChunks(components, query, parents, poolSize);
  if (scores.length < request.k && candidates.length > parentsWanted) {
    // Short texts have few fine chunks, but each has at least one.
    parents = await rankBest(components, query, candidates, request.k);
    scores = await scoreFineChunks(components, query, parents, poolSize);
  }
  const best = scores.best(poolSize);
  // Only the texts of the best are needed.
  const chunkHits = await readChunks(components, query, [...new Set(best.map(({ candidate }) => candidate))]);
  return { items: withParents(best, chunkHits), parents, candidates };
}

async function findConstrainedFineChunks(
  components: SearchComponents,
  query: PreparedQuery,
): Promise<ItemList<FineChunkHit>> {
  const { request } = query;
  const { parentsWanted, depth } = parentLimits(request.k);
  const isAccepted = toTextPredicate(request);
  const { chunkHits, candidates } = await findConstrainedChunks(components, query, {
    depth,
    poolSize: parentsWanted,
    oversampling: oversamplingMax,
    resultsOf: (parent) =>
      parent.chunk.children.flatMap((_, index) => {
        const text = toFineText({ parent, index });
        return text.trim() !== '' && isAccepted(text) ? [`${parent.number} ${index}`] : [];
      }),
  });
  const scores = await scoreFineChunks(
    components,
    query,
    chunkHits.map(({ candidate }) => candidate),
  );
  const accepted = withParents(scores.best(), chunkHits).filter((hit) => isAccepted(toFineText(hit)));
  const maxPerDocument = request.control.maxPerDocument * oversamplingFor(request);
  const poolLimits = { k: poolSizeFor(request), maxPerDocument, minScore: 0 };
  const items = limitResults(accepted, poolLimits, ({ candidate }) => candidate.version);
  return { items, candidates };
}

/** Adds the stored coarse chunks, and leaves out fine chunks of deleted documents. */
function withParents(fineChunks: readonly ScoredFineChunk[], chunkHits: readonly ChunkHit[]): FineChunkHit[] {
  const parentOf = new Map(chunkHits.map((chunkHit) => [chunkHit.candidate, chunkHit]));
  return fineChunks.flatMap((fineChunk) => {
    const parent = parentOf.get(fineChunk.candidate);
    return parent === undefined ? [] : [{ ...fineChunk, parent }];
  });
}

function parentLimits(k: number): { parentsWanted: number; depth: number } {
  const parentsWanted = Math.max(parentsMin, Math.ceil(k / fineChunksPerParent));
  return { parentsWanted, depth: depthFor(Math.max(parentsWanted, k)) };
}

/** Returns the text of a fine chunk. */
function toFineText({ parent, index }: Pick<FineChunkHit, 'parent' | 'index'>): string {
  const { text, children } = parent.chunk;
  const { start, end } = children[index]!;
  return text.slice(start, end);
}

/**
 * Returns a fine chunk with its two neighbors, for a reranker: alone it often lacks the words that name its
 * subject.
 */
function textWithNeighbors({ parent, index }: FineChunkHit): string {
  const { text, children } = parent.chunk;
  const first = children[Math.max(0, index - 1)]!;
  const last = children[Math.min(children.length - 1, index + 1)]!;
  return text.slice(first.start, last.end);
}

function toHit(
  reader: SearchComponents['reader'],
  query: PreparedQuery,
  result: RankedItem<FineChunkHit>,
): SnippetHit {
  const { parent, index, lexical, similarity, candidate } = result.item;
  const { version, chunk } = parent;
  const text = toFineText(result.item);
  const { startCodePoint: start, endCodePoint: end } = chunk.children[index]!;
  const { pageStart, pageEnd } = findFinePages(reader, version, chunk, index);
  // The proximity of a fine chunk is that of its coarse chunk.
  const { proximity, version: versionNumber, row } = candidate;
  const location = { version: versionNumber, row, fineChunk: index };
  const scores = { ...location, lexical, similarity, ...(proximity === undefined ? {} : { proximity }) };
  const { language } = chunk;
  const modelText = () => textWithNeighbors(result.item);
  const origin = toHitOrigin(query, result, scores, { text, language, modelText });
  const snippet = { text, start, end, pageStart, pageEnd };
  return { version, score: result.score, origin, snippet, row: candidate.row };
}

/** Returns the first page of a fine chunk, and the page after its last. */
export function findFinePages(
  reader: Pick<SearchComponents['reader'], 'readLayout'>,
  version: VersionRecord,
  { pageStart, pageEnd, children }: StoredChunk,
  index: number,
): Pick<StoredChunk, 'pageStart' | 'pageEnd'> {
  if (pageEnd - pageStart === 1) return { pageStart, pageEnd };
  const { startCodePoint, endCodePoint } = children[index]!;
  const pageStarts = reader.readLayout(version)?.pageStarts ?? new Uint32Array(1);
  return {
    pageStart: findPage(pageStarts, startCodePoint),
    pageEnd: findPage(pageStarts, endCodePoint - 1) + 1,
  };
}
