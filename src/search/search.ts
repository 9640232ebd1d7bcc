import type { Clock } from '../base/clock.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import { limits } from '../base/limits.ts';
import { ModelUnavailable } from '../base/model-unavailable.ts';
import type { CollectionIndex, IndexHits } from '../engine/collection-index.ts';
import { type Collection, generationOf } from '../store/collections.ts';
import type { StoredChunk } from '../store/content.ts';
import type { KeptVersion, RowContent, VersionReader } from '../store/version-reader.ts';
import type { Language } from '../text/languages.ts';
import type { Correction } from '../text/misspelled.ts';
import type { AnalysedQuery } from '../text/query.ts';
import { analyseQuery, matchedWords } from '../text/query.ts';
import { askIndex } from './ask-index.ts';
import { byFused, type Candidate, type CandidateList, findCandidates } from './candidates.ts';
import { type Child, scoreChildren, surroundings } from './children.ts';
import { blend, type Weights } from './fuse.ts';
import { pageOf } from './page-of.ts';
import { pagesOf, pagesThatPass } from './passage-pages.ts';
import { type Passage, passageText, readPassages, readRecords } from './passages.ts';
import type { SearchControl, SearchRequest, SearchTimes } from './query-request.ts';
import { type Look, lookCloser, lookDepth, withLook } from './second-look.ts';
import { type Choice, choosePassages, cut, Quota } from './selection.ts';
import { correctSpelling, type Understood } from './spelling.ts';

/** What the models do for a query; `pipeline/query-embedder` and `pipeline/model-runner` behind it. */
export interface QueryModels {
  /** Unit-length vector; `shared` lets the query wait a little and share a run with others. */
  embed(query: {
    readonly collectionId: string;
    /** Of the collection's vectors as they were when the query came. */
    readonly model: Collection['model'];
    readonly text: string;
    readonly shared: boolean;
  }): Float32Array | Promise<Float32Array>;
  /** Scores in 0..1, one per text. */
  rerank(model: string, query: string, texts: readonly string[]): Promise<Float32Array>;
  /** What its scores for a query count beside those of the first stage, which count 1. */
  rerankWeight(model: string, query: string): number;
}

export interface SearchOptions {
  readonly models: QueryModels;
  /** The shards with the vectors of this generation. Throws 503 while a collection is loading. */
  readonly indexOf: (collectionId: string, generation: number) => CollectionIndex;
  readonly reader: VersionReader;
  /** Cosine of a query vector with each of the 8-bit vectors that ingest stored. */
  readonly similarities: (query: Float32Array, codes: Uint8Array) => Float32Array;
  readonly clock: Clock;
  /** Whether a query does without a model that does not answer, and says so; otherwise it is refused. */
  readonly doesWithout: boolean;
  /**
   * Whether a word (in lower case) is right as it is, although no document has it: others that none has are looked for in
   * spellings that some have. Null: none is.
   */
  readonly knowsWord: ((word: string) => boolean) | null;
}

/** How a hit was found. */
export interface HitOrigin {
  readonly lexical: number;
  /** Null in a listing, which compares no vectors. */
  readonly similarity: number | null;
  readonly fused: number;
  readonly rerank: number | null;
  /** Null without a second look. */
  readonly look: Look | null;
  /** Words of the query, as typed, that the text holds; only with `explain`. */
  readonly words: readonly string[];
}

interface Hit {
  readonly version: KeptVersion;
  readonly score: number;
  readonly origin: HitOrigin;
}

export interface SnippetHit extends Hit {
  readonly snippet: Snippet;
}

/** A whole chunk as the store keeps it, or a part of one. */
export interface Snippet extends Pick<RowContent, 'shown'> {
  readonly chunk: Pick<StoredChunk, 'text' | 'start' | 'end' | 'pageStart' | 'pageEnd'>;
}

export interface PageHit extends Hit {
  readonly pageIndex: number;
}

export type DocumentHit = Hit;

export interface Found<H> {
  /** Best first. */
  readonly hits: H[];
  /** Only with `explain`. */
  readonly shards: IndexHits['shards'];
  readonly times: SearchTimes;
  /** What the models did for it; a listing needs none. */
  readonly models: ModelWork;
  readonly control: SearchControl;
  readonly choice: ChoiceWork;
  /** Words that were looked for in another spelling. */
  readonly corrections: readonly Correction[];
}

/** What it took to keep to the rules of a query that has some. */
interface ChoiceWork {
  /** Passages that were read for it. */
  readonly checked: number;
  /** False when the search ended at its limits, so that there may be more to find. */
  readonly complete: boolean;
  /** Passages that were looked at twice. */
  readonly looked: number;
}

interface ModelWork {
  readonly embedded: boolean;
  /** Texts that the reranker read. */
  readonly reranked: number;
  /** What the answer had to do without, and why. */
  readonly missing: readonly MissingModel[];
}

export interface MissingModel {
  readonly part: 'vector' | 'rerank';
  readonly model: string;
  readonly reason: string;
}

/** Everything one query carries through the stages. */
interface Run {
  readonly request: SearchRequest;
  /** Null when its model is not asked or does not answer: words alone decide. */
  readonly vector: Float32Array | null;
  /** The vectors that it is compared with, to the end of the query. */
  readonly generation: number;
  readonly analysed: AnalysedQuery;
  /** The query as models read it. */
  readonly text: string;
  readonly corrections: readonly Correction[];
  readonly weights: Weights;
  readonly times: SearchTimes;
  readonly models: { readonly embedded: boolean; reranked: number; readonly missing: MissingModel[] };
  readonly choice: { checked: number; complete: boolean; looked: number };
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** A passage or precise chunk in the final order. */
interface Ranked<T> {
  readonly item: T;
  readonly score: number;
  readonly fused: number;
  readonly rerank: number | null;
}

/**
 * Rows that each side hands in for each result, so that fusion has something to choose from: on six judged collections
 * ten results of 32 and of 1,000 rows were the same but for 2 in 1,000, and equally good (nDCG).
 */
const depthPerResult = 3;
/** But no fewer than these; and beyond so many, only as many as there are results. */
const depthMin = 32;
const depthUsualMax = 100;
/** Rows that each side hands in at most, however few documents they belong to. */
const depthMax = 16_384;
/** The same for pages, whose passages have to be read to know them. */
const pageDepthMax = 4_096;
/** Best candidates that a reranker reads. */
const rerankDepth = 100;
/** Stands for a text that nobody asked to explain. */
const unread = { text: '', language: null };
/** Passages whose precise chunks are scored: at least so many, or one for so many results. */
const precisePassagesMin = 32;
const precisePerPassage = 3;
/** A reranker reads up to so many times what a document may have in the end, so that it has a choice. */
const sparesMax = 3;
const nothingAsked: AnalysedQuery = { terms: [], words: [], plain: [] };

/** A question -> ranked snippets, pages or documents: embed, search the shards, fuse, rerank, read, cut. */
export class Search {
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** Passages of about 2,000 characters. */
  async snippets(request: SearchRequest): Promise<Found<SnippetHit>> {
    const run = await this.#begin(request);
    const { passages, candidates } = await this.#snippetPassages(run);
    const ranked = await this.#rerank(run, passages, passageText, (passage) => passage.candidate.fused);
    const best = cut(ranked, bounds(request), ({ item }) => item.candidate.version);
    const hits = best.map((entry) => {
      const { version, chunk, candidate, row } = entry.item;
      return {
        version,
        score: entry.score,
        origin: this.#origin(run, entry, candidate, chunk),
        snippet: row,
      };
    });
    return this.#found(run, hits, candidates);
  }

  /** Passages of about 200 characters: the precise children of the best coarse ones. */
  async preciseSnippets(request: SearchRequest): Promise<Found<SnippetHit>> {
    const run = await this.#begin(request);
    const { children, candidates } = await this.#children(run);
    children.sort((a, b) => b.score - a.score);
    const maxPerDocument = request.control.maxPerDocument * sparesOf(request);
    const pool = cut(children, { k: poolOf(request), maxPerDocument, minScore: 0 }, versionOfChild);
    const ranked = await this.#rerank(run, pool, surroundings, (child) => child.score);
    const best = cut(ranked, bounds(request), ({ item }) => versionOfChild(item));
    const hits = best.map((entry) => this.#childHit(run, entry));
    return this.#found(run, hits, candidates);
  }

  async pages(request: SearchRequest): Promise<Found<PageHit>> {
    const run = await this.#begin(request);
    const { operators, maxPerDocument } = request.control;
    const { passages, candidates } = await this.#pagePassages(run);
    const ranked = await this.#rerank(run, passages, passageText, (passage) => passage.candidate.fused);
    const best = new Map<string, PageHit>();
    // The best page of a passage has the passage's own score, so k of them in order leave nothing better behind.
    const certain = new Quota(maxPerDocument);
    for (const entry of ranked) {
      if (certain.count >= request.k) break;
      const turn = run.yieldToEventLoop();
      if (turn !== null) await turn;
      const { version, candidate, chunk } = entry.item;
      const origin = this.#origin(run, entry, candidate, chunk);
      const allowed = operators === null ? null : pagesThatPass(entry.item, operators, this.#options.reader);
      for (const { pageIndex, share } of await pagesOf(entry.item, run, this.#options)) {
        if (allowed?.includes(pageIndex) === false) continue;
        const key = `${version.version} ${pageIndex}`;
        const score = entry.score * share;
        if (share === 1) certain.take(version.version, key);
        if ((best.get(key)?.score ?? -1) < score) best.set(key, { version, pageIndex, score, origin });
      }
    }
    const ordered = [...best.values()].sort((a, b) => b.score - a.score);
    return this.#found(
      run,
      cut(ordered, bounds(request), ({ version }) => version.version),
      candidates,
    );
  }

  async documents(request: SearchRequest): Promise<Found<DocumentHit>> {
    const run = await this.#begin(request);
    const { operators, minScore } = request.control;
    const { ranked, candidates } = await (operators === null
      ? this.#rankedDocuments(run)
      : this.#passingDocuments(run));
    const best = cut(ranked, { k: request.k, maxPerDocument: 1, minScore }, ({ item }) => item.version);
    return this.#found(run, await this.#documentHits(run, best), candidates);
  }

  /** As many as it takes for `k` results and for the reranker. */
  async #snippetPassages(run: Run): Promise<FoundPassages> {
    const pool = poolOf(run.request);
    if (hasRules(run.request)) {
      const passes = passing(run.request);
      return this.#choose(run, {
        depth: depthFor(pool),
        resultsOf: ({ chunk, number }) => (passes(chunk.text) ? [String(number)] : []),
      });
    }
    const candidates = await this.#candidates(run, depthFor(pool));
    return { passages: await this.#bestPassages(run, candidates, pool), candidates };
  }

  /** The precise chunks of the best passages, in no order. */
  async #children(run: Run): Promise<{ children: Child[]; candidates: CandidateList }> {
    const { request } = run;
    const wanted = Math.max(precisePassagesMin, Math.ceil(request.k / precisePerPassage));
    const depth = depthFor(Math.max(wanted, request.k));
    if (hasRules(request)) {
      const passes = passing(request);
      const resultsOf = ({ chunk, number }: Passage) =>
        chunk.children.flatMap(({ start, end }, i) => {
          const text = chunk.text.slice(start, end);
          return text.trim() !== '' && passes(text) ? [`${number} ${i}`] : [];
        });
      const { passages, candidates } = await this.#choose(run, {
        depth,
        pool: wanted,
        spares: sparesMax,
        resultsOf,
      });
      const children = await scoreChildren(passages, run, this.#options);
      return { children: children.filter((child) => passes(childText(child))), candidates };
    }
    const candidates = await this.#candidates(run, depth);
    const passages = await this.#bestPassages(run, candidates, wanted);
    const children = await scoreChildren(passages, run, this.#options);
    if (children.length >= request.k || candidates.length <= wanted) return { children, candidates };
    // Short texts have few precise chunks, but each has one.
    const more = await this.#bestPassages(run, candidates, request.k);
    return { children: await scoreChildren(more, run, this.#options), candidates };
  }

  /** Candidates of at least `k` documents where there are so many, in their final order. */
  async #rankedDocuments(run: Run): Promise<RankedDocuments> {
    const { request } = run;
    let depth = depthFor(request.k * 2);
    let found = await this.#candidates(run, depth);
    while (!this.#enough(request, found, depth)) {
      depth *= 4;
      found = await this.#candidates(run, depth);
    }
    return { ranked: await this.#rankCandidates(run, found), candidates: found };
  }

  /** The same of documents in which one passage does as the operators say. */
  async #passingDocuments(run: Run): Promise<RankedDocuments> {
    const passes = passing(run.request);
    const { passages, candidates } = await this.#choose(run, {
      depth: depthFor(run.request.k * 2),
      perDocument: 1,
      resultsOf: ({ chunk }) => (passes(chunk.text) ? [''] : []),
    });
    const ranked = await this.#rerank(run, passages, passageText, (passage) => passage.candidate.fused);
    return { ranked: ranked.map((entry) => ({ ...entry, item: entry.item.candidate })), candidates };
  }

  /** Passages that keep to the rules of the query. */
  async #choose(
    run: Run,
    {
      perDocument = run.request.control.maxPerDocument,
      pool = poolOf(run.request),
      spares = sparesOf(run.request),
      ...choice
    }: Pick<Choice, 'depth' | 'resultsOf'> & Partial<Pick<Choice, 'perDocument' | 'pool' | 'spares'>>,
  ): Promise<FoundPassages> {
    const { passages, candidates, checked, complete } = await choosePassages({
      ...choice,
      k: run.request.k,
      pool,
      perDocument,
      spares: perDocument * spares,
      find: (depth) => this.#candidates(run, depth),
      read: (candidates) => this.#read(run, candidates),
      caller: run.request.caller,
      yieldToEventLoop: run.yieldToEventLoop,
    });
    run.choice.checked = checked;
    run.choice.complete = complete;
    return { passages: await this.#lookedAt(run, passages), candidates };
  }

  /** Passages of at least `k` pages where there are so many: a page of many passages must not hide all others. */
  async #pagePassages(run: Run): Promise<FoundPassages> {
    const { k, control } = run.request;
    if (hasRules(run.request)) {
      const { reader } = this.#options;
      const depth = depthFor(k * 2);
      return this.#choose(run, {
        depth,
        pool: depth,
        resultsOf: (passage) => pagesThatPass(passage, control.operators, reader).map(String),
      });
    }
    for (let depth = depthFor(k * 2); ; depth *= 4) {
      const candidates = await this.#candidates(run, depth);
      const passages = await this.#bestPassages(run, candidates, depth);
      const pages = new Set<string>();
      for (const { version, chunk } of passages)
        for (let page = chunk.pageStart; page < chunk.pageEnd; page += 1)
          pages.add(`${version.version} ${page}`);
      if (pages.size >= k || candidates.length < depth || depth >= pageDepthMax)
        return { passages, candidates };
    }
  }

  /** Documents that a filter matches, in no particular order; no words, no vectors. */
  async list(request: Omit<SearchRequest, 'query' | 'reranker' | 'wide'>): Promise<Found<DocumentHit>> {
    const { clock, indexOf, reader } = this.#options;
    const times: SearchTimes = { embed: 0, search: 0, rerank: 0, read: 0 };
    const { collectionId } = request.collection;
    const started = clock.monotonic();
    const index = indexOf(collectionId, generationOf(request.collection));
    const numbers = await askIndex(request.caller, () =>
      index.list(request.filter, request.k, request.deadlineMs),
    );
    times.search = clock.monotonic() - started;
    const origin: HitOrigin = { lexical: 0, similarity: null, fused: 0, rerank: null, look: null, words: [] };
    const records = await readRecords({ reader, yieldToEventLoop: request.yieldToEventLoop }, collectionId, [
      ...numbers,
    ]);
    const hits = records.flatMap((version) => (version === undefined ? [] : [{ version, score: 0, origin }]));
    const models = { embedded: false, reranked: 0, missing: [] };
    const choice = { checked: 0, complete: true, looked: 0 };
    return { hits, shards: [], times, models, control: request.control, choice, corrections: [] };
  }

  #found<H>(run: Run, hits: H[], candidates: CandidateList): Found<H> {
    const { request, times, models, choice, corrections } = run;
    const shards = request.explain ? candidates.shards : [];
    return { hits, shards, times, models, control: request.control, choice, corrections };
  }

  async #begin(request: SearchRequest): Promise<Run> {
    const { clock, models } = this.#options;
    const times: SearchTimes = { embed: 0, search: 0, rerank: 0, read: 0 };
    const started = clock.monotonic();
    const { collectionId, model } = request.collection;
    const generation = generationOf(request.collection);
    const { weights } = request.control;
    const missing: MissingModel[] = [];
    const understood = this.#understand(request);
    const { analysed, text, corrections } = understood instanceof Promise ? await understood : understood;
    const understoodMs = clock.monotonic() - started;
    const made = request.vector ?? null;
    const embed = () => made ?? models.embed({ collectionId, model, text, shared: request.wide });
    let vector: Float32Array | null = null;
    // Without words and without a vector there would be nothing left to ask.
    if (weights.lexical === 0) vector = await embed();
    else if (weights.vector > 0) vector = await this.#orWithout(missing, 'vector', embed);
    times.search = understoodMs;
    times.embed = clock.monotonic() - started - understoodMs;
    const work = { embedded: made === null && vector !== null, reranked: 0, missing };
    return {
      request,
      vector,
      generation,
      analysed,
      text,
      corrections,
      weights,
      times,
      models: work,
      choice: { checked: 0, complete: true, looked: 0 },
      yieldToEventLoop: request.yieldToEventLoop,
    };
  }

  /** The words of a query, with what misspelled ones stand for. */
  #understand(request: SearchRequest): Understood | Promise<Understood> {
    const { query: text, control, deadlineMs, caller } = request;
    const nothing = { text, corrections: [] };
    if (control.weights.lexical === 0) return { ...nothing, analysed: nothingAsked };
    const languages = request.collection.languages as readonly Language[];
    const analysed = analyseQuery(text, languages);
    const { knowsWord } = this.#options;
    if (knowsWord === null || request.isConfined === true) return { ...nothing, analysed };
    const { collectionId } = request.collection;
    const index = this.#options.indexOf(collectionId, generationOf(request.collection));
    const phrases = control.operators?.phrases ?? [];
    return askIndex(caller, () =>
      correctSpelling(index, { analysed, text, phrases, languages, knowsWord, deadlineMs }),
    );
  }

  /**
   * What a model makes, or null when it does not answer and the query may do without; then `missing` has why. What is
   * made at once is there at once.
   */
  #orWithout<Made>(
    missing: MissingModel[],
    part: MissingModel['part'],
    make: () => Made | Promise<Made>,
  ): Made | null | Promise<Made | null> {
    const without = (error: unknown): null => {
      if (!(error instanceof ModelUnavailable) || !this.#options.doesWithout) throw error;
      missing.push({ part, model: error.model, reason: error.reason });
      return null;
    };
    try {
      const made = make();
      return made instanceof Promise ? made.catch(without) : made;
    } catch (error) {
      return without(error);
    }
  }

  async #candidates(run: Run, depth: number): Promise<CandidateList> {
    const { request, vector, analysed, weights, times, yieldToEventLoop } = run;
    const { clock } = this.#options;
    const started = clock.monotonic();
    const { filter, wide, deadlineMs, caller } = request;
    const found = await findCandidates(this.#indexOf(run), {
      vector,
      analysed,
      weights,
      filter,
      depth,
      wide,
      deadlineMs,
      caller,
      yieldToEventLoop,
    });
    times.search += clock.monotonic() - started;
    return found;
  }

  /** The best `count` passages; of a search that looks twice, those that are the best then. */
  async #bestPassages(run: Run, candidates: CandidateList, count: number): Promise<Passage[]> {
    if (!looksTwice(run)) return this.#read(run, candidates.best(count));
    const first = await this.#read(run, candidates.best(Math.max(count, lookDepth)));
    const passages = await this.#lookedAt(run, first);
    return passages.slice(0, count);
  }

  /** Passages in the order of a second look at the first of them, where the query asks for one. */
  async #lookedAt(run: Run, passages: readonly Passage[]): Promise<Passage[]> {
    if (!looksTwice(run) || passages.length === 0) return [...passages];
    const { request, analysed, times, yieldToEventLoop } = run;
    const started = this.#options.clock.monotonic();
    const first = passages.slice(0, lookDepth);
    const index = this.#indexOf(run);
    const rows = index.rowsOfTerms(analysed.terms.map(({ hash }) => hash));
    const rowsOf = analysed.words.map(() => 0);
    for (const [i, { group }] of analysed.terms.entries()) rowsOf[group] = rowsOf[group]! + rows[i]!;
    const looks = await lookCloser(
      first,
      analysed,
      { rows: index.statistics().rows, rowsOf },
      { caller: request.caller, yieldToEventLoop },
    );
    run.choice.looked = Math.max(run.choice.looked, first.length);
    times.search += this.#options.clock.monotonic() - started;
    return passages
      .map((passage, i) => {
        const { candidate } = passage;
        const look = looks[i] ?? null;
        const fused = withLook(candidate.fused, look);
        return { ...passage, candidate: { ...candidate, fused, ...(look === null ? {} : { look }) } };
      })
      .sort((a, b) => byFused(a.candidate, b.candidate));
  }

  #indexOf({ request, generation }: Run): CollectionIndex {
    return this.#options.indexOf(request.collection.collectionId, generation);
  }

  async #read(run: Run, candidates: readonly Candidate[]): Promise<Passage[]> {
    const { request, times, yieldToEventLoop } = run;
    const { clock, reader } = this.#options;
    const started = clock.monotonic();
    const { collectionId } = request.collection;
    const passages = await readPassages({ reader, yieldToEventLoop }, collectionId, candidates);
    times.read += clock.monotonic() - started;
    return passages;
  }

  /** Blends in the reranker over the best items, when one is asked for; the rest follow in their order. */
  async #rerank<T>(
    { request, text, times, models: work, yieldToEventLoop }: Run,
    items: readonly T[],
    textOf: (item: T) => string,
    fusedOf: (item: T) => number,
  ): Promise<Ranked<T>[]> {
    const plain = (item: T) => ({ item, score: fusedOf(item), fused: fusedOf(item), rerank: null });
    const { reranker } = request;
    if (reranker === null || items.length === 0) return items.map(plain);
    const { clock, models } = this.#options;
    const started = clock.monotonic();
    const pool = items.slice(0, Math.max(rerankDepth, Math.min(request.k, limits.topSnippetsMax)));
    const texts = pool.map(textOf);
    const scores = await this.#orWithout(work.missing, 'rerank', () => models.rerank(reranker, text, texts));
    times.rerank += clock.monotonic() - started;
    const turn = yieldToEventLoop();
    if (turn !== null) await turn;
    if (scores === null) return items.map(plain);
    const blended = blend(scores, Float32Array.from(pool, fusedOf), models.rerankWeight(reranker, text));
    work.reranked += pool.length;
    const ranked: Ranked<T>[] = pool
      .map((item, i) => ({ item, score: blended[i]!, fused: fusedOf(item), rerank: scores[i]! }))
      .sort((a, b) => b.score - a.score);
    // Items that the reranker has not read keep their order below those that it has.
    const floor = ranked.at(-1)!.score;
    const rest = items.slice(pool.length).map((item) => ({ ...plain(item), score: floor * fusedOf(item) }));
    return [...ranked, ...rest];
  }

  /** Candidates in their final order; their text is read only when a reranker needs it. */
  async #rankCandidates(run: Run, found: CandidateList): Promise<Ranked<Candidate>[]> {
    if (run.request.reranker === null && !looksTwice(run)) {
      return bestOfVersions(found, run.request.k).map((item) => ({
        item,
        score: item.fused,
        fused: item.fused,
        rerank: null,
      }));
    }
    const candidates = found.best();
    const passages = await this.#bestPassages(run, found, rerankDepth);
    const ranked = await this.#rerank(run, passages, passageText, (passage) => passage.candidate.fused);
    const floor = ranked.at(-1)?.score ?? 1;
    const rest = candidates
      .slice(rerankDepth)
      .map((item) => ({ item, score: floor * item.fused, fused: item.fused, rerank: null }));
    return [...ranked.map((entry) => ({ ...entry, item: entry.item.candidate })), ...rest];
  }

  async #documentHits(run: Run, ranked: readonly Ranked<Candidate>[]): Promise<DocumentHit[]> {
    const { request, times, yieldToEventLoop } = run;
    const { clock, reader } = this.#options;
    const started = clock.monotonic();
    const records = await readRecords(
      { reader, yieldToEventLoop },
      request.collection.collectionId,
      ranked.map(({ item }) => item.version),
    );
    times.read += clock.monotonic() - started;
    const texts = request.explain ? await this.#texts(run, ranked) : new Map<number, StoredChunk>();
    return ranked.flatMap((entry, i) => {
      const version = records[i];
      if (version === undefined) return [];
      const origin = this.#origin(run, entry, entry.item, texts.get(version.version) ?? unread);
      return [{ version, score: entry.score, origin }];
    });
  }

  async #texts(run: Run, ranked: readonly Ranked<Candidate>[]): Promise<Map<number, StoredChunk>> {
    const passages = await this.#read(
      run,
      ranked.map(({ item }) => item),
    );
    return new Map(passages.map(({ version, chunk }) => [version.version, chunk]));
  }

  #childHit(run: Run, entry: Ranked<Child>): SnippetHit {
    const { passage, index } = entry.item;
    const { version, chunk } = passage;
    const span = chunk.children[index]!;
    const text = chunk.text.slice(span.start, span.end);
    let [pageStart, pageEnd] = [chunk.pageStart, chunk.pageEnd];
    if (pageEnd - pageStart > 1) {
      const starts = this.#options.reader.layout(version)?.pageStarts ?? new Uint32Array(1);
      pageStart = pageOf(starts, span.startCodePoint);
      pageEnd = pageOf(starts, span.endCodePoint - 1) + 1;
    }
    const { look } = passage.candidate;
    const child = { ...entry.item, ...(look === undefined ? {} : { look }) };
    const origin = this.#origin(run, entry, child, { text, language: chunk.language });
    const { startCodePoint: start, endCodePoint: end } = span;
    const snippet = { chunk: { text, start, end, pageStart, pageEnd }, shown: null };
    return { version, score: entry.score, origin, snippet };
  }

  #origin(
    { request, analysed, vector }: Run,
    { fused, rerank }: Ranked<unknown>,
    { lexical, similarity, look }: Pick<Candidate, 'lexical' | 'similarity' | 'look'>,
    found: { readonly text: string; readonly language: string | null },
  ): HitOrigin {
    const words = request.explain
      ? matchedWords(analysed, found.text, found.language as Language | null)
      : [];
    return {
      lexical,
      similarity: vector === null ? null : similarity,
      fused,
      rerank,
      words,
      look: look ?? null,
    };
  }

  /** Whether looking deeper could find further documents. */
  #enough({ k }: SearchRequest, candidates: CandidateList, depth: number): boolean {
    return depth >= depthMax || candidates.length < depth || candidates.countVersions() >= k;
  }
}

interface FoundPassages {
  /** In the order of the first stage. */
  readonly passages: Passage[];
  readonly candidates: CandidateList;
}

interface RankedDocuments {
  readonly ranked: Ranked<Candidate>[];
  readonly candidates: CandidateList;
}

/** Whether the order and the places of words are looked at, for which passages have to be read. */
function looksTwice({ request, analysed }: Run): boolean {
  return request.wide && analysed.terms.length > 0;
}

/** Whether results have to be chosen by more than their order. */
function hasRules({ control }: SearchRequest): boolean {
  return control.operators !== null || Number.isFinite(control.maxPerDocument);
}

function bounds({ k, control: { maxPerDocument, minScore } }: SearchRequest) {
  return { k, maxPerDocument, minScore };
}

/** Whether a text says what the query's operators want. */
function passing({ control: { operators } }: SearchRequest): (text: string) => boolean {
  return (text) => operators === null || operators.pass(text);
}

/** Items that go into the last round: what a reranker reads, or just the results. */
function poolOf({ k, reranker }: SearchRequest): number {
  return reranker === null ? k : Math.max(rerankDepth, k);
}

/** How many times what a document may have goes into the last round, so that `k` results fit into what is reranked. */
function sparesOf({ k, reranker }: SearchRequest): number {
  return reranker === null ? 1 : Math.min(sparesMax, Math.max(1, Math.floor(rerankDepth / k)));
}

/** Rows that each side hands in when so many of them are wanted. */
function depthFor(wanted: number): number {
  return Math.max(wanted, Math.min(depthUsualMax, Math.max(depthMin, depthPerResult * wanted)));
}

/** The best candidates, as many as it takes for `k` versions, where there are so many. */
function bestOfVersions(found: CandidateList, k: number): Candidate[] {
  for (let count = 2 * k; ; count *= 4) {
    const best = found.best(count);
    if (count >= found.length || new Set(best.map(({ version }) => version)).size >= k) return best;
  }
}

function childText({ passage, index }: Child): string {
  const { start, end } = passage.chunk.children[index]!;
  return passage.chunk.text.slice(start, end);
}

function versionOfChild({ passage }: Child): number {
  return passage.candidate.version;
}
