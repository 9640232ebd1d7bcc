import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type {
  QueryExplanation,
  ResultExplanation,
  TopDocumentsResponse,
  TopPagesResponse,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { DocumentHit, PageHit, SearchResult, Snippet, SnippetHit } from '../search/search.ts';
import type { TextParts } from '../storage/text-parts.ts';
import type { CachedVersion, VersionReplyFragment } from '../storage/version-reader.ts';
import { appendText, encodeChunk, type JsonChunk, RenderedJson } from './rendered-json.ts';

/** Fields that a reply shows beside the hits. */
export interface ReplyOptions {
  readonly metadata: boolean;
  readonly explain: boolean;
  /** Prefix of file URLs, before the token; it needs no escaping in JSON. */
  readonly fileUrl: string;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export interface PageReplyOptions extends ReplyOptions {
  /** Text of the page; null when the reply omits it. */
  readonly content: (hit: PageHit) => TextParts | null;
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
      score: toJsonNumber(hit.score),
      extraFields: renderExplanation(hit, options),
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
  const scores = toJsonScores(result);
  for (const [i, hit] of result.hits.entries()) {
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    const location = `"path":${hit.version.pathJson},"page_index":${hit.pageIndex}`;
    const content = options.content(hit);
    const image = JSON.stringify(options.imageUrl(hit));
    const shown = `"image_url":${image}${renderExplanation(hit, options)}`;
    chunks.push(`${i === 0 ? '' : ','}{${location},"score":${scores[i]},"content":`);
    if (content === null) chunks.push('null');
    else await appendText(chunks, content, options.yieldToEventLoop);
    chunks.push(`,${shown}}`);
  }
  await appendDocumentResults(chunks, result.hits, scores, options);
  chunks.push(renderEnd(result, options));
  return new RenderedJson(chunks);
}

export async function renderSnippets(
  result: SearchResult<SnippetHit>,
  options: ReplyOptions,
): Promise<RenderedJson<TopSnippetsResponse>> {
  const chunks: JsonChunk[] = [];
  let separator = '{"results":[';
  const scores = toJsonScores(result);
  for (const [i, hit] of result.hits.entries()) {
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    chunks.push(separator, renderSnippet(hit), scores[i]!);
    if (options.explain) chunks.push(renderExplanation(hit, options));
    separator = '},';
  }
  chunks.push(result.hits.length === 0 ? separator : '}');
  await appendDocumentResults(chunks, result.hits, scores, options);
  chunks.push(renderEnd(result, options));
  return new RenderedJson(chunks);
}

/** A snippet from its opening brace up to its score; cached for a whole chunk. */
function renderSnippet({ version, snippet }: SnippetHit): Uint8Array {
  snippet.replyFragment ??= encodeUtf8(
    `{"path":${version.pathJson},${renderSnippetFields(snippet)},"score":`,
  );
  return snippet.replyFragment;
}

function renderSnippetFields({ chunk: { text, start, end, pageStart, pageEnd } }: Snippet): string {
  const pages = `"page_span":[${pageStart},${pageEnd}]`;
  return `"start_index":${start},"end_index":${end},${pages},"content":${JSON.stringify(text)}`;
}

/** Appends each document of the hits once, with the score of its best hit. */
async function appendDocumentResults(
  chunks: JsonChunk[],
  hits: readonly DocumentHit[],
  scores: readonly string[],
  options: ReplyOptions,
): Promise<void> {
  chunks.push('],"document_results":[');
  const shown = new Set<number>();
  for (const [i, hit] of hits.entries()) {
    const { version } = hit.version;
    if (shown.has(version)) continue;
    const pause = options.yieldToEventLoop();
    if (pause !== null) await pause;
    appendDocument(chunks, hit, options, { isFirst: shown.size === 0, score: scores[i]!, extraFields: '' });
    shown.add(version);
  }
}

function renderEnd(result: SearchResult<DocumentHit>, { explain }: ReplyOptions): string {
  const warnings = toWarnings(result);
  const warningsField = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`;
  return explain
    ? `]${warningsField},"explain":${JSON.stringify(toExplanation(result))}}`
    : `]${warningsField}}`;
}

function toWarnings({ models, selection: choice }: SearchResult<DocumentHit>): string[] {
  const warnings = models.missing.map(({ part, model, reason }) =>
    missingModelWarning[part](JSON.stringify(model), reason),
  );
  return choice.complete ? warnings : [...warnings, incompleteWarning(choice.checked)];
}

function toExplanation(result: SearchResult<DocumentHit>): QueryExplanation {
  const { shards, times, models, selection: choice, corrections } = result;
  return {
    shards,
    ms: { ...times },
    missing: [...models.missing],
    spelling: corrections.map(({ typed, terms, replacement: read }) => ({
      typed,
      terms: [...terms],
      read_as: read,
    })),
    looked_at: choice.rescored,
    control: toControlExplanation(result),
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

/** Appends a document with the separating comma; `more`: fields that follow the others. */
function appendDocument(
  chunks: JsonChunk[],
  { version }: DocumentHit,
  { metadata, fileUrl }: ReplyOptions,
  {
    isFirst,
    score,
    extraFields,
  }: { readonly isFirst: boolean; readonly score: string; readonly extraFields: string },
): void {
  const shown = renderVersion(version, fileUrl);
  chunks.push(isFirst ? shown.prefix.subarray(1) : shown.prefix, score);
  if (metadata || extraFields !== '')
    chunks.push(
      encodeChunk(renderAfterScore(version, metadata ? version.metadata : null, fileUrl)),
      `${extraFields}}`,
    );
  else chunks.push(shown.suffix);
}

/**
 * Returns the part of a document that is the same in all replies for one URL prefix without metadata; cached.
 */
function renderVersion(version: CachedVersion, fileUrl: string): VersionReplyFragment {
  if (version.replyFragment?.baseUrl !== fileUrl)
    version.replyFragment = {
      prefix: encodeUtf8(`,{"path":${version.pathJson},"score":`),
      suffix: encodeUtf8(`${renderAfterScore(version, null, fileUrl)}}`),
      baseUrl: fileUrl,
    };
  return version.replyFragment;
}

function renderAfterScore(
  version: CachedVersion,
  metadata: CachedVersion['metadata'] | null,
  fileUrl: string,
): string {
  const url = `${JSON.stringify(fileUrl).slice(0, -1)}${version.fileToken()}"`;
  return `,"metadata":${JSON.stringify(metadata)},"file_url":${url}`;
}

function encodeUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function renderExplanation({ origin }: DocumentHit, { explain }: ReplyOptions): string {
  if (!explain) return '';
  const explanation: ResultExplanation = {
    lexical: { score: origin.lexical, terms: [...origin.words] },
    vector: { similarity: origin.similarity },
    fused: origin.fused,
    rerank: origin.rerank,
    look: origin.proximity,
  };
  return `,"explain":${JSON.stringify(explanation)}`;
}

/** Scores as JSON. Serializing a number is as slow as finding its neighbors, so each is serialized once. */
function toJsonScores({ hits }: SearchResult<DocumentHit>): string[] {
  return hits.map(({ score }) => toJsonNumber(score));
}

/** Serializes a number as JSON. Unlike `String`, this bypasses V8's number cache, where scores never hit. */
function toJsonNumber(value: number): string {
  return JSON.stringify(value);
}
