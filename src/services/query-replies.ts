import { assertDefined } from '../core/assert.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type {
  QueryExplanation,
  ResultExplanation,
  TopDocumentsResponse,
  TopPagesResponse,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import { findHighlights } from '../search/highlights.ts';
import type { PastState } from '../search/past-search.ts';
import type { SearchMember, SearchRequest } from '../search/query-request.ts';
import type { DocumentHit, PageHit, SearchResult, Snippet, SnippetHit } from '../search/search-result.ts';
import type { TextParts } from '../storage/text-parts.ts';
import { explainMoment, explainVersion } from './explain-moment.ts';
import { toFacetResponses } from './facet-replies.ts';
import type { LineRectangles } from './line-rectangles.ts';
import { appendText, encodeChunk, type JsonChunk, RenderedJson } from './rendered-json.ts';
import { encodeSnippet, type ReplyFragments, renderAfterScore } from './reply-fragments.ts';

/** Fields that a reply shows beside the hits. */
export interface ReplyOptions {
  readonly metadata: boolean;
  readonly explain: boolean;
  /** Whether results show the matched words of their text; absent: no. */
  readonly highlights?: boolean | undefined;
  /** Source of the places of lines; absent or null if results do not show them. */
  readonly rectangles?: LineRectangles | null;
  /** Collections of the request if results name theirs; absent or null: they do not. */
  readonly members?: readonly SearchMember[] | null | undefined;
  /** Facets of the request; absent or null for none. */
  readonly facets?: SearchRequest['facets'];
  /** Whether the reply has a cursor. */
  readonly hasCursor?: boolean;
  /** State of the collection that was searched; absent or null for the present. */
  readonly past?: PastState | null;
  readonly fragments: ReplyFragments;
  /** Start of the URLs in the reply. */
  readonly baseUrl: string;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export interface SnippetReplyOptions extends ReplyOptions {
  /** Whether each snippet is a whole stored chunk, whose JSON is cached. */
  readonly areChunks: boolean;
}

export interface PageReplyOptions extends ReplyOptions {
  /** Text of the page, or the stored chunk that has exactly this text; null when the reply omits it. */
  readonly content: (hit: PageHit) => TextParts | Snippet | null;
  readonly imageUrl: (hit: PageHit) => string | null;
}

/*
 * Serializes query replies as JSON, byte for byte like `JSON.stringify` but in a fraction of its time,
 * because most of a reply is text whose JSON is cached.
 */

export async function renderDocuments(
  result: SearchResult<DocumentHit>,
  options: ReplyOptions,
): Promise<RenderedJson<TopDocumentsResponse>> {
  const chunks: JsonChunk[] = ['{"results":['];
  for (const [i, hit] of result.hits.entries()) {
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    appendDocument(chunks, hit, options, {
      isFirst: i === 0,
      score: hit.score,
      extraFields: renderCollection(hit, options) + renderExplanation(hit, options),
    });
  }
  chunks.push(renderEnd(result, options));
  return new RenderedJson(chunks);
}

export async function renderPages(
  result: SearchResult<PageHit>,
  options: PageReplyOptions,
): Promise<RenderedJson<TopPagesResponse>> {
  const chunks: JsonChunk[] = ['{"results":['];
  for (const [i, hit] of result.hits.entries()) {
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    const { pathJson } = options.fragments.ofDocument(hit.version, options.baseUrl);
    const location = `"path":${pathJson},"page_index":${hit.pageIndex}`;
    const content = readContent(hit, options);
    const image = JSON.stringify(options.imageUrl(hit));
    const extraFields = `${renderCollection(hit, options)}${content.highlights}${renderExplanation(hit, options)}`;
    const shown = `"image_url":${image}${extraFields}`;
    chunks.push(`${i === 0 ? '' : ','}{${location},"score":${JSON.stringify(hit.score)},"content":`);
    const { text } = content;
    if (text === null) chunks.push('null');
    else if (typeof text === 'object' && 'text' in text)
      chunks.push(options.fragments.ofContent(hit.version, text));
    else await appendText(chunks, text, options.yieldToEventLoop);
    chunks.push(`,${shown}}`);
  }
  await appendDocumentResults(chunks, result.hits, options);
  chunks.push(renderEnd(result, options));
  return new RenderedJson(chunks);
}

/** Returns the content of a page and its highlights, which need the whole text. */
function readContent(
  hit: PageHit,
  options: PageReplyOptions,
): { readonly text: TextParts | Snippet | null; readonly highlights: string } {
  const text = options.content(hit);
  if (text === null || options.highlights !== true) return { text, highlights: '' };
  const whole = 'text' in text ? text.text : [...text].join('');
  const found = findHighlights(whole, hit.origin);
  const { rectangles = null } = options;
  const places =
    rectangles === null
      ? ''
      : `,"page_rectangles":${JSON.stringify(rectangles.ofPage(hit.version, hit.pageIndex, found))}`;
  return {
    text: 'text' in text ? text : [whole],
    highlights: `,"highlights":${JSON.stringify(found)}${places}`,
  };
}

export async function renderSnippets(
  result: SearchResult<SnippetHit>,
  options: SnippetReplyOptions,
): Promise<RenderedJson<TopSnippetsResponse>> {
  const chunks: JsonChunk[] = ['{"results":['];
  for (const [i, hit] of result.hits.entries()) {
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    const end = i === result.hits.length - 1 ? '}' : '},';
    const highlights = renderHighlights(hit, hit.snippet.text, options);
    const rectangles = renderRectangles(hit, options);
    const extraFields = `${renderCollection(hit, options)}${highlights}${rectangles}${renderExplanation(hit, options)}`;
    const scoreAndEnd = `${JSON.stringify(hit.score)}${extraFields}${end}`;
    chunks.push(renderSnippet(hit, options), scoreAndEnd);
  }
  await appendDocumentResults(chunks, result.hits, options);
  chunks.push(renderEnd(result, options));
  return new RenderedJson(chunks);
}

/** Returns a snippet from its opening brace up to its score. */
function renderSnippet(
  { version, snippet }: SnippetHit,
  { fragments, baseUrl, areChunks }: SnippetReplyOptions,
): Uint8Array {
  if (areChunks) return fragments.ofChunk(version, snippet);
  return encodeSnippet(fragments.ofDocument(version, baseUrl).pathJson, snippet);
}

/** Appends each document of the hits once, with the score of its best hit. */
async function appendDocumentResults(
  chunks: JsonChunk[],
  hits: readonly DocumentHit[],
  options: ReplyOptions,
): Promise<void> {
  chunks.push('],"document_results":[');
  const shown = new Set<number>();
  for (const hit of hits) {
    const { version } = hit.version;
    if (shown.has(version)) continue;
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    const extraFields = renderCollection(hit, options);
    appendDocument(chunks, hit, options, { isFirst: shown.size === 0, score: hit.score, extraFields });
    shown.add(version);
  }
}

function renderEnd(
  result: SearchResult<DocumentHit>,
  { explain, facets = null, hasCursor = false }: ReplyOptions,
): string {
  const warnings = toWarnings(result);
  const counted =
    facets === null || (result.facets ?? null) === null
      ? ''
      : `,"facets":${JSON.stringify(toFacetResponses(facets, result.facets!))}`;
  const groups = result.groups == null ? '' : `,"groups":${JSON.stringify(result.groups)}`;
  const cursor = hasCursor ? `,"next_cursor":${JSON.stringify(result.nextCursor ?? null)}` : '';
  const warningsField = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`;
  return explain
    ? `]${cursor}${groups}${counted}${warningsField},"explain":${JSON.stringify(toExplanation(result))}}`
    : `]${cursor}${groups}${counted}${warningsField}}`;
}

function toWarnings({ models, selection: choice }: SearchResult<DocumentHit>): string[] {
  const warnings = models.missing.map(({ part, model, reason }) =>
    missingModelWarning[part](JSON.stringify(model), reason),
  );
  return choice.complete ? warnings : [...warnings, incompleteWarning(choice.checked)];
}

function toExplanation(result: SearchResult<DocumentHit>): QueryExplanation {
  const { candidates, times, models, selection: choice, corrections } = result;
  return {
    shards: candidates.shards,
    ms: { ...times },
    missing: [...models.missing],
    spelling: corrections.map(({ typed, terms, replacement: read }) => ({
      typed,
      terms: [...terms],
      read_as: read,
    })),
    good_match: result.goodMatch,
    looked_at: choice.rescored,
    control: toControlExplanation(result),
    ...explainMoment(result),
  };
}

function toControlExplanation({
  control,
  selection: choice,
}: SearchResult<DocumentHit>): QueryExplanation['control'] {
  const { weights, minScore, maxPerDocument, operators } = control;
  return {
    weights: { lexical: weights.lexical, vector: weights.vector },
    min_score: minScore > 0 ? minScore : null,
    max_per_document: Number.isFinite(maxPerDocument) ? maxPerDocument : null,
    syntax: operators === null ? 'natural' : 'operators',
    phrases: [...(operators?.phrases ?? [])],
    excluded: [...(operators?.excluded ?? [])],
    checked: choice.checked,
    complete: choice.complete,
  };
}

function incompleteWarning(checked: number): string {
  return `The search stopped at its limits after checking ${checked.toLocaleString('en-US')} chunks; the results may be incomplete.`;
}

/** Warnings for results that are incomplete because a model failed. */
const missingModelWarning = {
  vector: (model: string, reason: string) =>
    `The results are from lexical search only, because the embedding model ${model} is unavailable: ${reason}.`,
  rerank: (model: string, reason: string) =>
    `The results are not reranked, because the model ${model} is unavailable: ${reason}.`,
};

/** Appends a document with the separating comma; `extraFields` follow the others. */
function appendDocument(
  chunks: JsonChunk[],
  { version }: DocumentHit,
  { metadata, fragments, baseUrl }: ReplyOptions,
  {
    isFirst,
    score,
    extraFields,
  }: { readonly isFirst: boolean; readonly score: number; readonly extraFields: string },
): void {
  const document = fragments.ofDocument(version, baseUrl);
  chunks.push(isFirst ? document.prefix.subarray(1) : document.prefix, JSON.stringify(score));
  if (metadata || extraFields !== '') {
    const fields = renderAfterScore(metadata ? version.metadata : null, document.fileUrlJson);
    chunks.push(encodeChunk(fields), `${extraFields}}`);
  } else chunks.push(document.suffix);
}

function renderCollection({ version }: DocumentHit, { members = null }: ReplyOptions): string {
  if (members === null) return '';
  const member = members.find(({ collection }) => collection.collectionId === version.collectionId);
  const { name } = assertDefined(member, 'a result is from a collection of the request');
  return `,"collection_name":${JSON.stringify(name)}`;
}

function renderHighlights({ origin }: DocumentHit, text: string, { highlights }: ReplyOptions): string {
  return highlights === true ? `,"highlights":${JSON.stringify(findHighlights(text, origin))}` : '';
}

function renderRectangles({ version, snippet }: SnippetHit, { rectangles = null }: ReplyOptions): string {
  return rectangles === null
    ? ''
    : `,"page_rectangles":${JSON.stringify(rectangles.ofSpan(version, snippet))}`;
}

function renderExplanation({ origin, version }: DocumentHit, { explain, past = null }: ReplyOptions): string {
  if (!explain) return '';
  const explanation: ResultExplanation = {
    lexical: {
      score: origin.lexical,
      terms: origin.matches.map(({ queryWord }) => queryWord),
      words: origin.matches.map(({ words }) => [...words]),
    },
    vector: { similarity: origin.similarity },
    fused: origin.fused,
    rerank: origin.rerank,
    relevance: origin.relevance,
    look: origin.proximity,
    ...(origin.boost === undefined ? {} : { boost: origin.boost }),
    ...(origin.pinned === undefined ? {} : { pinned: origin.pinned }),
    ...(past === null ? {} : { version: explainVersion(version, past) }),
  };
  return `,"explain":${JSON.stringify(explanation)}`;
}
