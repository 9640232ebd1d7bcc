import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { ModelUnavailableError } from '../core/model-unavailable-error.ts';
import type { CollectionIndex, IndexHits } from '../index/collection-index.ts';
import type { StoredChunk } from '../storage/chunks.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import type { CachedVersion, RowContent, VersionReader } from '../storage/version-reader.ts';
import type { Language } from '../text/languages.ts';
import type { LexicalQuery } from '../text/query.ts';
import { analyzeQuery, findMatchedWords } from '../text/query.ts';
import type { Correction } from '../text/spelling-correction.ts';
import { callIndex } from './call-index.ts';
import { type Candidate, type CandidateList, compareByFusedScore, findCandidates } from './candidates.ts';
import { type ChunkHit, readChunkHits, readRecords, toModelText } from './chunk-hits.ts';
import { findAcceptedPages, scorePages } from './chunk-pages.ts';
import { type ScoredFineChunk, scoreFineChunks, textWithNeighbors } from './fine-chunks.ts';
import { blend, type Weights } from './fuse.ts';
import { findPage } from './page-lookup.ts';
import { addProximity, type ProximityScores, rescoringDepth, scoreProximity } from './proximity.ts';
import type { SearchControl, SearchRequest, SearchTimes } from './query-request.ts';
import { limitResults, Quota, type SelectionOptions, selectChunks } from './selection.ts';
import { type AnalyzedQuery, correctSpelling } from './spelling.ts';

/** Model functions for a query; implemented with `ingest/query-embedder` and `ingest/model-runner`. */
export interface QueryModels {
  /** Returns a unit-length vector. `shared`: the query may wait a little to share a run with others. */
  embed(query: {
    readonly collectionId: string;
    /** Model of the collection's vectors at the start of the query. */
    readonly model: Collection['model'];
    readonly text: string;
    readonly shared: boolean;
  }): Float32Array | Promise<Float32Array>;
  /** Returns one score in 0..1 per text. */
  rerank(model: string, query: string, texts: readonly string[]): Promise<Float32Array>;
  /** Returns the weight of the model's scores for a query; the first stage has weight 1. */
  rerankWeight(model: string, query: string): number;
}

export interface SearchOptions {
  readonly models: QueryModels;
  /** Returns the shards with the vectors of this generation. Errors: 503 while a collection is loading. */
  readonly getIndex: (collectionId: string, generation: number) => CollectionIndex;
  readonly reader: VersionReader;
  /** Returns the cosine of a query vector with each stored 8-bit vector. */
  readonly computeSimilarities: (query: Float32Array, codes: Uint8Array) => Float32Array;
  readonly clock: Clock;
  /** Whether a query continues without an unavailable model and reports it; otherwise the query fails. */
  readonly mayDegrade: boolean;
  /**
   * Whether a lower-case word is correct although no document contains it; other unknown words are corrected
   * to spellings that occur in documents. Null: no corrections.
   */
  readonly isKnownWord: ((word: string) => boolean) | null;
}

/** Scores and matches that explain a hit. */
export interface HitOrigin {
  readonly lexical: number;
  /** Null in a listing, which compares no vectors. */
  readonly similarity: number | null;
  readonly fused: number;
  readonly rerank: number | null;
  /** Null without proximity rescoring. */
  readonly proximity: ProximityScores | null;
  /** Query words, as typed, that the text contains; only with `explain`. */
  readonly words: readonly string[];
}

interface Hit {
  readonly version: CachedVersion;
  readonly score: number;
  readonly origin: HitOrigin;
}

export interface SnippetHit extends Hit {
  readonly snippet: Snippet;
}

/** A whole stored chunk or a part of one. */
export interface Snippet extends Pick<RowContent, 'replyFragment'> {
  readonly chunk: Pick<StoredChunk, 'text' | 'start' | 'end' | 'pageStart' | 'pageEnd'>;
}

export interface PageHit extends Hit {
  readonly pageIndex: number;
}

export type DocumentHit = Hit;

export interface SearchResult<H> {
  /** Best first. */
  readonly hits: H[];
  /** Only with `explain`. */
  readonly shards: IndexHits['shards'];
  readonly times: SearchTimes;
  /** Model usage; a listing uses none. */
  readonly models: ModelStats;
  readonly control: SearchControl;
  readonly selection: SelectionStats;
  /** Words searched in a corrected spelling. */
  readonly corrections: readonly Correction[];
}

/** Statistics of selecting results under the constraints of a query. */
interface SelectionStats {
  /** Number of chunks read. */
  readonly checked: number;
  /** False when the search ended at its limits, so that more results may exist. */
  readonly complete: boolean;
  /** Number of chunks rescored by proximity. */
  readonly rescored: number;
}

interface ModelStats {
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

/** State of one query across all stages. */
interface Run {
  readonly request: SearchRequest;
  /** Null when the query uses no model or the model is unavailable: lexical search only. */
  readonly vector: Float32Array | null;
  /** Generation of the vectors searched, fixed until the end of the query. */
  readonly generation: number;
  readonly lexicalQuery: LexicalQuery;
  /** The query text for models. */
  readonly text: string;
  readonly corrections: readonly Correction[];
  readonly weights: Weights;
  readonly times: SearchTimes;
  readonly models: { readonly embedded: boolean; reranked: number; readonly missing: MissingModel[] };
  readonly selection: { checked: number; complete: boolean; rescored: number };
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** A coarse or fine chunk in the final order. */
interface RankedItem<T> {
  readonly item: T;
  readonly score: number;
  readonly fused: number;
  readonly rerank: number | null;
}

/**
 * Rows per result that lexical and vector search each return, as candidates for fusion: on six judged
 * collections, ten results from 32 and from 1,000 rows differed in only 2 of 1,000 cases and were equally
 * good (nDCG).
 */
const depthPerResult = 3;
/** Bounds of that depth: at least `depthMin`; above `depthDefaultMax`, only as many rows as results. */
const depthMin = 32;
const depthDefaultMax = 100;
/** Maximum depth, however few documents the rows belong to. */
const depthMax = 16_384;
/** Maximum depth for pages, whose chunks must be read to know the pages. */
const pageDepthMax = 4_096;
/** Number of best candidates that a reranker scores. */
const rerankDepth = 100;
/** Placeholder for the text of a hit without `explain`. */
const emptyChunkText = { text: '', language: null };
/**
 * Number of coarse chunks whose fine chunks are scored: at least `fineParentsMin`, or one per
 * `fineChunksPerParent` results.
 */
const fineParentsMin = 32;
const fineChunksPerParent = 3;
/** A reranker gets up to this multiple of the maximum results per document, so that it has a choice. */
const oversamplingMax = 3;
const emptyQuery: LexicalQuery = { terms: [], words: [], letterWords: [] };

/**
 * Runs queries and returns ranked snippets, pages or documents: embed, search the shards, fuse, rerank, read,
 * limit.
 */
export class Search {
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** Searches coarse chunks of about 2,000 characters. */
  async searchSnippets(request: SearchRequest): Promise<SearchResult<SnippetHit>> {
    const run = await this.#prepare(request);
    const { chunkHits, candidates } = await this.#findSnippetChunks(run);
    const ranked = await this.#rerank(run, chunkHits, toModelText, (chunkHit) => chunkHit.candidate.fused);
    const best = limitResults(ranked, toResultLimits(request), ({ item }) => item.candidate.version);
    const hits = best.map((entry) => {
      const { version, chunk, candidate, row } = entry.item;
      return {
        version,
        score: entry.score,
        origin: this.#toOrigin(run, entry, candidate, chunk),
        snippet: row,
      };
    });
    return this.#toResult(run, hits, candidates);
  }

  /** Searches fine chunks of about 200 characters: the children of the best coarse chunks. */
  async searchFineSnippets(request: SearchRequest): Promise<SearchResult<SnippetHit>> {
    const run = await this.#prepare(request);
    const { fineChunks, candidates } = await this.#findFineChunks(run);
    fineChunks.sort((a, b) => b.score - a.score);
    const maxPerDocument = request.control.maxPerDocument * oversamplingFor(request);
    const pool = limitResults(
      fineChunks,
      { k: poolSizeFor(request), maxPerDocument, minScore: 0 },
      versionOfFineChunk,
    );
    const ranked = await this.#rerank(run, pool, textWithNeighbors, (fineChunk) => fineChunk.score);
    const best = limitResults(ranked, toResultLimits(request), ({ item }) => versionOfFineChunk(item));
    const hits = best.map((entry) => this.#toSnippetHit(run, entry));
    return this.#toResult(run, hits, candidates);
  }

  async searchPages(request: SearchRequest): Promise<SearchResult<PageHit>> {
    const run = await this.#prepare(request);
    const { operators, maxPerDocument } = request.control;
    const { chunkHits, candidates } = await this.#findPageChunks(run);
    const ranked = await this.#rerank(run, chunkHits, toModelText, (chunkHit) => chunkHit.candidate.fused);
    const best = new Map<string, PageHit>();
    // The best page of a chunk has the score of the chunk, so after k pages in order no better page can
    // follow.
    const quota = new Quota(maxPerDocument);
    for (const entry of ranked) {
      if (quota.count >= request.k) break;
      const pause = run.yieldToEventLoop();
      if (pause !== null) await pause;
      const { version, candidate, chunk } = entry.item;
      const origin = this.#toOrigin(run, entry, candidate, chunk);
      const allowed =
        operators === null ? null : findAcceptedPages(entry.item, operators, this.#options.reader);
      for (const { pageIndex, share } of await scorePages(entry.item, run, this.#options)) {
        if (allowed?.includes(pageIndex) === false) continue;
        const key = `${version.version} ${pageIndex}`;
        const score = entry.score * share;
        if (share === 1) quota.tryAdd(version.version, key);
        if ((best.get(key)?.score ?? -1) < score) best.set(key, { version, pageIndex, score, origin });
      }
    }
    const ordered = [...best.values()].sort((a, b) => b.score - a.score);
    return this.#toResult(
      run,
      limitResults(ordered, toResultLimits(request), ({ version }) => version.version),
      candidates,
    );
  }

  async searchDocuments(request: SearchRequest): Promise<SearchResult<DocumentHit>> {
    const run = await this.#prepare(request);
    const { operators, minScore } = request.control;
    const { ranked, candidates } = await (operators === null
      ? this.#rankDocuments(run)
      : this.#rankAcceptedDocuments(run));
    const best = limitResults(
      ranked,
      { k: request.k, maxPerDocument: 1, minScore },
      ({ item }) => item.version,
    );
    return this.#toResult(run, await this.#toDocumentHits(run, best), candidates);
  }

  /** Returns enough coarse chunks for `k` results and for the reranker. */
  async #findSnippetChunks(run: Run): Promise<ChunkHitList> {
    const pool = poolSizeFor(run.request);
    if (hasConstraints(run.request)) {
      const isAccepted = toTextPredicate(run.request);
      return this.#selectChunks(run, {
        depth: depthFor(pool),
        resultsOf: ({ chunk, number }) => (isAccepted(chunk.text) ? [String(number)] : []),
      });
    }
    const candidates = await this.#findCandidates(run, depthFor(pool));
    return { chunkHits: await this.#readBestChunks(run, candidates, pool), candidates };
  }

  /** Returns the fine chunks of the best coarse chunks, unordered. */
  async #findFineChunks(run: Run): Promise<{ fineChunks: ScoredFineChunk[]; candidates: CandidateList }> {
    const { request } = run;
    const parentsWanted = Math.max(fineParentsMin, Math.ceil(request.k / fineChunksPerParent));
    const depth = depthFor(Math.max(parentsWanted, request.k));
    if (hasConstraints(request)) {
      const isAccepted = toTextPredicate(request);
      const resultsOf = ({ chunk, number }: ChunkHit) =>
        chunk.children.flatMap(({ start, end }, i) => {
          const text = chunk.text.slice(start, end);
          return text.trim() !== '' && isAccepted(text) ? [`${number} ${i}`] : [];
        });
      const { chunkHits, candidates } = await this.#selectChunks(run, {
        depth,
        poolSize: parentsWanted,
        extraPerDocument: oversamplingMax,
        resultsOf,
      });
      const fineChunks = await scoreFineChunks(chunkHits, run, this.#options);
      return {
        fineChunks: fineChunks.filter((fineChunk) => isAccepted(textOfFineChunk(fineChunk))),
        candidates,
      };
    }
    const candidates = await this.#findCandidates(run, depth);
    const chunkHits = await this.#readBestChunks(run, candidates, parentsWanted);
    const fineChunks = await scoreFineChunks(chunkHits, run, this.#options);
    if (fineChunks.length >= request.k || candidates.length <= parentsWanted)
      return { fineChunks, candidates };
    // Short texts have few fine chunks, but each has at least one.
    const more = await this.#readBestChunks(run, candidates, request.k);
    return { fineChunks: await scoreFineChunks(more, run, this.#options), candidates };
  }

  /** Ranks candidates of at least `k` documents, if that many match, in their final order. */
  async #rankDocuments(run: Run): Promise<RankedDocuments> {
    const { request } = run;
    let depth = depthFor(request.k * 2);
    let found = await this.#findCandidates(run, depth);
    while (!this.#hasEnough(request, found, depth)) {
      depth *= 4;
      found = await this.#findCandidates(run, depth);
    }
    return { ranked: await this.#rankCandidates(run, found), candidates: found };
  }

  /** Same for documents with at least one chunk that the operators accept. */
  async #rankAcceptedDocuments(run: Run): Promise<RankedDocuments> {
    const isAccepted = toTextPredicate(run.request);
    const { chunkHits, candidates } = await this.#selectChunks(run, {
      depth: depthFor(run.request.k * 2),
      perDocument: 1,
      resultsOf: ({ chunk }) => (isAccepted(chunk.text) ? [''] : []),
    });
    const ranked = await this.#rerank(run, chunkHits, toModelText, (chunkHit) => chunkHit.candidate.fused);
    return { ranked: ranked.map((entry) => ({ ...entry, item: entry.item.candidate })), candidates };
  }

  /** Returns coarse chunks that satisfy the constraints of the query. */
  async #selectChunks(
    run: Run,
    {
      perDocument = run.request.control.maxPerDocument,
      poolSize: pool = poolSizeFor(run.request),
      extraPerDocument: oversampling = oversamplingFor(run.request),
      ...choice
    }: Pick<SelectionOptions, 'depth' | 'resultsOf'> &
      Partial<Pick<SelectionOptions, 'perDocument' | 'poolSize' | 'extraPerDocument'>>,
  ): Promise<ChunkHitList> {
    const { chunkHits, candidates, checked, complete } = await selectChunks({
      ...choice,
      k: run.request.k,
      poolSize: pool,
      perDocument,
      extraPerDocument: perDocument * oversampling,
      find: (depth) => this.#findCandidates(run, depth),
      read: (candidates) => this.#readChunks(run, candidates),
      caller: run.request.caller,
      yieldToEventLoop: run.yieldToEventLoop,
    });
    run.selection.checked = checked;
    run.selection.complete = complete;
    return { chunkHits: await this.#rescoreByProximity(run, chunkHits), candidates };
  }

  /**
   * Returns coarse chunks on at least `k` pages, if that many match: a page with many chunks must not hide
   * all others.
   */
  async #findPageChunks(run: Run): Promise<ChunkHitList> {
    const { k, control } = run.request;
    if (hasConstraints(run.request)) {
      const { reader } = this.#options;
      const depth = depthFor(k * 2);
      return this.#selectChunks(run, {
        depth,
        poolSize: depth,
        resultsOf: (chunkHit) => findAcceptedPages(chunkHit, control.operators, reader).map(String),
      });
    }
    for (let depth = depthFor(k * 2); ; depth *= 4) {
      const candidates = await this.#findCandidates(run, depth);
      const chunkHits = await this.#readBestChunks(run, candidates, depth);
      const pages = new Set<string>();
      for (const { version, chunk } of chunkHits)
        for (let page = chunk.pageStart; page < chunk.pageEnd; page += 1)
          pages.add(`${version.version} ${page}`);
      if (pages.size >= k || candidates.length < depth || depth >= pageDepthMax)
        return { chunkHits, candidates };
    }
  }

  /** Lists documents that match a filter, in no particular order, without lexical or vector search. */
  async listDocuments(
    request: Omit<SearchRequest, 'query' | 'reranker' | 'isWide'>,
  ): Promise<SearchResult<DocumentHit>> {
    const { clock, getIndex, reader } = this.#options;
    const times: SearchTimes = { embed: 0, search: 0, rerank: 0, read: 0 };
    const { collectionId } = request.collection;
    const started = clock.monotonic();
    const index = getIndex(collectionId, getGeneration(request.collection));
    const numbers = await callIndex(request.caller, () =>
      index.list(request.filter, request.k, request.deadlineMs),
    );
    times.search = clock.monotonic() - started;
    const origin: HitOrigin = {
      lexical: 0,
      similarity: null,
      fused: 0,
      rerank: null,
      proximity: null,
      words: [],
    };
    const records = await readRecords({ reader, yieldToEventLoop: request.yieldToEventLoop }, collectionId, [
      ...numbers,
    ]);
    const hits = records.flatMap((version) => (version === undefined ? [] : [{ version, score: 0, origin }]));
    const models = { embedded: false, reranked: 0, missing: [] };
    const selection = { checked: 0, complete: true, rescored: 0 };
    return { hits, shards: [], times, models, control: request.control, selection, corrections: [] };
  }

  #toResult<H>(run: Run, hits: H[], candidates: CandidateList): SearchResult<H> {
    const { request, times, models, selection, corrections } = run;
    const shards = request.explain ? candidates.shards : [];
    return { hits, shards, times, models, control: request.control, selection, corrections };
  }

  async #prepare(request: SearchRequest): Promise<Run> {
    const { clock, models } = this.#options;
    const times: SearchTimes = { embed: 0, search: 0, rerank: 0, read: 0 };
    const started = clock.monotonic();
    const { collectionId, model } = request.collection;
    const generation = getGeneration(request.collection);
    const { weights } = request.control;
    const missing: MissingModel[] = [];
    const corrected = this.#analyze(request);
    const { lexicalQuery, text, corrections } = corrected instanceof Promise ? await corrected : corrected;
    const analysisMs = clock.monotonic() - started;
    const suppliedVector = request.vector ?? null;
    const embed = () => suppliedVector ?? models.embed({ collectionId, model, text, shared: request.isWide });
    let vector: Float32Array | null = null;
    // Without lexical search and without a vector nothing could be searched, so the error is not caught.
    if (weights.lexical === 0) vector = await embed();
    else if (weights.vector > 0) vector = await this.#runOrDegrade(missing, 'vector', embed);
    times.search = analysisMs;
    times.embed = clock.monotonic() - started - analysisMs;
    const modelStats = { embedded: suppliedVector === null && vector !== null, reranked: 0, missing };
    return {
      request,
      vector,
      generation,
      lexicalQuery,
      text,
      corrections,
      weights,
      times,
      models: modelStats,
      selection: { checked: 0, complete: true, rescored: 0 },
      yieldToEventLoop: request.yieldToEventLoop,
    };
  }

  /** Analyzes the words of a query, including corrections of misspelled ones. */
  #analyze(request: SearchRequest): AnalyzedQuery | Promise<AnalyzedQuery> {
    const { query: text, control, deadlineMs, caller } = request;
    const nothing = { text, corrections: [] };
    if (control.weights.lexical === 0) return { ...nothing, lexicalQuery: emptyQuery };
    const languages = request.collection.languages as readonly Language[];
    const lexicalQuery = analyzeQuery(text, languages);
    const { isKnownWord } = this.#options;
    if (isKnownWord === null || request.isRestricted === true) return { ...nothing, lexicalQuery };
    const { collectionId } = request.collection;
    const index = this.#options.getIndex(collectionId, getGeneration(request.collection));
    const phrases = control.operators?.phrases ?? [];
    return callIndex(caller, () =>
      correctSpelling(index, { lexicalQuery, text, phrases, languages, isKnownWord, deadlineMs }),
    );
  }

  /**
   * Runs a model; returns null and adds the reason to `missing` when it is unavailable and the query may
   * degrade. A synchronous result is returned synchronously.
   */
  #runOrDegrade<Output>(
    missing: MissingModel[],
    part: MissingModel['part'],
    make: () => Output | Promise<Output>,
  ): Output | null | Promise<Output | null> {
    const degrade = (error: unknown): null => {
      if (!(error instanceof ModelUnavailableError) || !this.#options.mayDegrade) throw error;
      missing.push({ part, model: error.model, reason: error.reason });
      return null;
    };
    try {
      const output = make();
      return output instanceof Promise ? output.catch(degrade) : output;
    } catch (error) {
      return degrade(error);
    }
  }

  async #findCandidates(run: Run, depth: number): Promise<CandidateList> {
    const { request, vector, lexicalQuery, weights, times, yieldToEventLoop } = run;
    const { clock } = this.#options;
    const started = clock.monotonic();
    const { filter, isWide: wide, deadlineMs, caller } = request;
    const found = await findCandidates(this.#getIndex(run), {
      vector,
      lexicalQuery,
      weights,
      filter,
      depth,
      isWide: wide,
      deadlineMs,
      caller,
      yieldToEventLoop,
    });
    times.search += clock.monotonic() - started;
    return found;
  }

  /** Reads the best `count` chunks, after proximity rescoring if the query uses it. */
  async #readBestChunks(run: Run, candidates: CandidateList, count: number): Promise<ChunkHit[]> {
    if (!usesProximity(run)) return this.#readChunks(run, candidates.best(count));
    const first = await this.#readChunks(run, candidates.best(Math.max(count, rescoringDepth)));
    const chunkHits = await this.#rescoreByProximity(run, first);
    return chunkHits.slice(0, count);
  }

  /** Rescores the first chunks by proximity, if the query uses it, and returns all in the new order. */
  async #rescoreByProximity(run: Run, chunkHits: readonly ChunkHit[]): Promise<ChunkHit[]> {
    if (!usesProximity(run) || chunkHits.length === 0) return [...chunkHits];
    const { request, lexicalQuery, times, yieldToEventLoop } = run;
    const started = this.#options.clock.monotonic();
    const first = chunkHits.slice(0, rescoringDepth);
    const index = this.#getIndex(run);
    const rows = index.countRowsOfTerms(lexicalQuery.terms.map(({ hash }) => hash));
    const rowsOf = lexicalQuery.words.map(() => 0);
    for (const [i, { group }] of lexicalQuery.terms.entries()) rowsOf[group] = rowsOf[group]! + rows[i]!;
    const scores = await scoreProximity(
      first,
      lexicalQuery,
      { rows: index.statistics().rows, rowsByGroup: rowsOf },
      { caller: request.caller, yieldToEventLoop },
    );
    run.selection.rescored = Math.max(run.selection.rescored, first.length);
    times.search += this.#options.clock.monotonic() - started;
    return chunkHits
      .map((chunkHit, i) => {
        const { candidate } = chunkHit;
        const proximity = scores[i] ?? null;
        const fused = addProximity(candidate.fused, proximity);
        return {
          ...chunkHit,
          candidate: { ...candidate, fused, ...(proximity === null ? {} : { proximity }) },
        };
      })
      .sort((a, b) => compareByFusedScore(a.candidate, b.candidate));
  }

  #getIndex({ request, generation }: Run): CollectionIndex {
    return this.#options.getIndex(request.collection.collectionId, generation);
  }

  async #readChunks(run: Run, candidates: readonly Candidate[]): Promise<ChunkHit[]> {
    const { request, times, yieldToEventLoop } = run;
    const { clock, reader } = this.#options;
    const started = clock.monotonic();
    const { collectionId } = request.collection;
    const chunkHits = await readChunkHits({ reader, yieldToEventLoop }, collectionId, candidates);
    times.read += clock.monotonic() - started;
    return chunkHits;
  }

  /** Blends reranker scores into the best items if a reranker is requested; the others follow in their order. */
  async #rerank<T>(
    { request, text, times, models: work, yieldToEventLoop }: Run,
    items: readonly T[],
    textOf: (item: T) => string,
    fusedOf: (item: T) => number,
  ): Promise<RankedItem<T>[]> {
    const plain = (item: T) => ({ item, score: fusedOf(item), fused: fusedOf(item), rerank: null });
    const { reranker } = request;
    if (reranker === null || items.length === 0) return items.map(plain);
    const { clock, models } = this.#options;
    const started = clock.monotonic();
    const pool = items.slice(0, Math.max(rerankDepth, Math.min(request.k, limits.topSnippetsMax)));
    const texts = pool.map(textOf);
    const scores = await this.#runOrDegrade(work.missing, 'rerank', () =>
      models.rerank(reranker, text, texts),
    );
    times.rerank += clock.monotonic() - started;
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    if (scores === null) return items.map(plain);
    const blended = blend(scores, Float32Array.from(pool, fusedOf), models.rerankWeight(reranker, text));
    work.reranked += pool.length;
    const ranked: RankedItem<T>[] = pool
      .map((item, i) => ({ item, score: blended[i]!, fused: fusedOf(item), rerank: scores[i]! }))
      .sort((a, b) => b.score - a.score);
    // Items not scored by the reranker keep their order below the scored ones.
    const floor = ranked.at(-1)!.score;
    const rest = items.slice(pool.length).map((item) => ({ ...plain(item), score: floor * fusedOf(item) }));
    return [...ranked, ...rest];
  }

  /**
   * Returns the candidates in their final order; reads their text only for a reranker or proximity rescoring.
   */
  async #rankCandidates(run: Run, found: CandidateList): Promise<RankedItem<Candidate>[]> {
    if (run.request.reranker === null && !usesProximity(run)) {
      return selectBestVersions(found, run.request.k).map((item) => ({
        item,
        score: item.fused,
        fused: item.fused,
        rerank: null,
      }));
    }
    const candidates = found.best();
    const chunkHits = await this.#readBestChunks(run, found, rerankDepth);
    const ranked = await this.#rerank(run, chunkHits, toModelText, (chunkHit) => chunkHit.candidate.fused);
    const floor = ranked.at(-1)?.score ?? 1;
    const rest = candidates
      .slice(rerankDepth)
      .map((item) => ({ item, score: floor * item.fused, fused: item.fused, rerank: null }));
    return [...ranked.map((entry) => ({ ...entry, item: entry.item.candidate })), ...rest];
  }

  async #toDocumentHits(run: Run, ranked: readonly RankedItem<Candidate>[]): Promise<DocumentHit[]> {
    const { request, times, yieldToEventLoop } = run;
    const { clock, reader } = this.#options;
    const started = clock.monotonic();
    const records = await readRecords(
      { reader, yieldToEventLoop },
      request.collection.collectionId,
      ranked.map(({ item }) => item.version),
    );
    times.read += clock.monotonic() - started;
    const texts = request.explain ? await this.#readTexts(run, ranked) : new Map<number, StoredChunk>();
    return ranked.flatMap((entry, i) => {
      const version = records[i];
      if (version === undefined) return [];
      const origin = this.#toOrigin(run, entry, entry.item, texts.get(version.version) ?? emptyChunkText);
      return [{ version, score: entry.score, origin }];
    });
  }

  async #readTexts(run: Run, ranked: readonly RankedItem<Candidate>[]): Promise<Map<number, StoredChunk>> {
    const chunkHits = await this.#readChunks(
      run,
      ranked.map(({ item }) => item),
    );
    return new Map(chunkHits.map(({ version, chunk }) => [version.version, chunk]));
  }

  #toSnippetHit(run: Run, entry: RankedItem<ScoredFineChunk>): SnippetHit {
    const { parent, index } = entry.item;
    const { version, chunk } = parent;
    const span = chunk.children[index]!;
    const text = chunk.text.slice(span.start, span.end);
    let [pageStart, pageEnd] = [chunk.pageStart, chunk.pageEnd];
    if (pageEnd - pageStart > 1) {
      const starts = this.#options.reader.readLayout(version)?.pageStarts ?? new Uint32Array(1);
      pageStart = findPage(starts, span.startCodePoint);
      pageEnd = findPage(starts, span.endCodePoint - 1) + 1;
    }
    const { proximity } = parent.candidate;
    const scored = { ...entry.item, ...(proximity === undefined ? {} : { proximity }) };
    const origin = this.#toOrigin(run, entry, scored, { text, language: chunk.language });
    const { startCodePoint: start, endCodePoint: end } = span;
    const snippet = { chunk: { text, start, end, pageStart, pageEnd }, replyFragment: null };
    return { version, score: entry.score, origin, snippet };
  }

  #toOrigin(
    { request, lexicalQuery, vector }: Run,
    { fused, rerank }: RankedItem<unknown>,
    { lexical, similarity, proximity }: Pick<Candidate, 'lexical' | 'similarity' | 'proximity'>,
    found: { readonly text: string; readonly language: string | null },
  ): HitOrigin {
    const words = request.explain
      ? findMatchedWords(lexicalQuery, found.text, found.language as Language | null)
      : [];
    return {
      lexical,
      similarity: vector === null ? null : similarity,
      fused,
      rerank,
      words,
      proximity: proximity ?? null,
    };
  }

  /** Whether a deeper search could not find further documents, or is not needed. */
  #hasEnough({ k }: SearchRequest, candidates: CandidateList, depth: number): boolean {
    return depth >= depthMax || candidates.length < depth || candidates.countVersions() >= k;
  }
}

interface ChunkHitList {
  /** In first-stage order. */
  readonly chunkHits: ChunkHit[];
  readonly candidates: CandidateList;
}

interface RankedDocuments {
  readonly ranked: RankedItem<Candidate>[];
  readonly candidates: CandidateList;
}

/** Whether chunks are rescored by word proximity, which requires reading them. */
function usesProximity({ request, lexicalQuery }: Run): boolean {
  return request.isWide && lexicalQuery.terms.length > 0;
}

/** Whether the results are constrained beyond their order. */
function hasConstraints({ control }: SearchRequest): boolean {
  return control.operators !== null || Number.isFinite(control.maxPerDocument);
}

function toResultLimits({ k, control: { maxPerDocument, minScore } }: SearchRequest) {
  return { k, maxPerDocument, minScore };
}

/** Returns a predicate that tests a text against the operators of the query. */
function toTextPredicate({ control: { operators } }: SearchRequest): (text: string) => boolean {
  return (text) => operators === null || operators.accepts(text);
}

/** Returns the number of items in the final stage: those scored by a reranker, or just the results. */
function poolSizeFor({ k, reranker }: SearchRequest): number {
  return reranker === null ? k : Math.max(rerankDepth, k);
}

/**
 * Returns the multiple of the maximum results per document that enters the final stage, such that the
 * reranked items yield `k` results.
 */
function oversamplingFor({ k, reranker }: SearchRequest): number {
  return reranker === null ? 1 : Math.min(oversamplingMax, Math.max(1, Math.floor(rerankDepth / k)));
}

/** Returns the search depth for a number of wanted rows. */
function depthFor(countWanted: number): number {
  return Math.max(countWanted, Math.min(depthDefaultMax, Math.max(depthMin, depthPerResult * countWanted)));
}

/** Returns the best candidates, as many as needed for `k` versions, if that many exist. */
function selectBestVersions(found: CandidateList, k: number): Candidate[] {
  for (let count = 2 * k; ; count *= 4) {
    const best = found.best(count);
    if (count >= found.length || new Set(best.map(({ version }) => version)).size >= k) return best;
  }
}

function textOfFineChunk({ parent, index }: ScoredFineChunk): string {
  const { start, end } = parent.chunk.children[index]!;
  return parent.chunk.text.slice(start, end);
}

function versionOfFineChunk({ parent }: ScoredFineChunk): number {
  return parent.candidate.version;
}
