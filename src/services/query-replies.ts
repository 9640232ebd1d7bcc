import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type {
  QueryExplanation,
  ResultExplanation,
  TopDocumentsResponse,
  TopPagesResponse,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { DocumentHit, Found, PageHit, Snippet, SnippetHit } from '../search/search.ts';
import type { TextParts } from '../store/content.ts';
import type { KeptVersion, ShownVersion } from '../store/version-reader.ts';
import { addText, encoded, type Piece, Rendered } from './rendered.ts';

/** What a reply shows of its hits beyond what was found. */
export interface Showing {
  readonly metadata: boolean;
  readonly explain: boolean;
  /** What the address of a file begins with, before the token, which is as it is in JSON. */
  readonly fileUrl: string;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export interface PageShowing extends Showing {
  /** Text of the page, null when the reply does not show it. */
  readonly content: (hit: PageHit) => TextParts | null;
  readonly imageUrl: (hit: PageHit) => string | null;
}

/*
 * The replies of queries as JSON: what `JSON.stringify` makes of them, byte for byte, for a fraction of its time,
 * since most of a reply is text whose JSON is kept beside it.
 */

export async function documentsReply(
  found: Found<DocumentHit>,
  showing: Showing,
): Promise<Rendered<TopDocumentsResponse>> {
  const pieces: Piece[] = ['{"results":['];
  for (const [i, hit] of found.hits.entries()) {
    const turn = showing.yieldToEventLoop();
    if (turn !== null) await turn;
    addDocument(pieces, hit, showing, {
      isFirst: i === 0,
      score: numeral(hit.score),
      more: explained(hit, showing),
    });
  }
  pieces.push(ending(found, showing));
  return new Rendered(pieces);
}

export async function pagesReply(
  found: Found<PageHit>,
  showing: PageShowing,
): Promise<Rendered<TopPagesResponse>> {
  const pieces: Piece[] = ['{"results":['];
  const scores = scoresOf(found);
  for (const [i, hit] of found.hits.entries()) {
    const turn = showing.yieldToEventLoop();
    if (turn !== null) await turn;
    const place = `"path":${hit.version.pathJson},"page_index":${hit.pageIndex}`;
    const content = showing.content(hit);
    const image = JSON.stringify(showing.imageUrl(hit));
    const shown = `"image_url":${image}${explained(hit, showing)}`;
    pieces.push(`${i === 0 ? '' : ','}{${place},"score":${scores[i]},"content":`);
    if (content === null) pieces.push('null');
    else await addText(pieces, content, showing.yieldToEventLoop);
    pieces.push(`,${shown}}`);
  }
  await addDocumentResults(pieces, found.hits, scores, showing);
  pieces.push(ending(found, showing));
  return new Rendered(pieces);
}

export async function snippetsReply(
  found: Found<SnippetHit>,
  showing: Showing,
): Promise<Rendered<TopSnippetsResponse>> {
  const pieces: Piece[] = [];
  let between = '{"results":[';
  const scores = scoresOf(found);
  for (const [i, hit] of found.hits.entries()) {
    const turn = showing.yieldToEventLoop();
    if (turn !== null) await turn;
    pieces.push(between, shownSnippet(hit), scores[i]!);
    if (showing.explain) pieces.push(explained(hit, showing));
    between = '},';
  }
  pieces.push(found.hits.length === 0 ? between : '}');
  await addDocumentResults(pieces, found.hits, scores, showing);
  pieces.push(ending(found, showing));
  return new Rendered(pieces);
}

/** A snippet from its opening brace up to its score; of a whole chunk made once. */
function shownSnippet({ version, snippet }: SnippetHit): Uint8Array {
  snippet.shown ??= utf8(`{"path":${version.pathJson},${snippetFields(snippet)},"score":`);
  return snippet.shown;
}

function snippetFields({ chunk: { text, start, end, pageStart, pageEnd } }: Snippet): string {
  const pages = `"page_span":[${pageStart},${pageEnd}]`;
  return `"start_index":${start},"end_index":${end},${pages},"content":${JSON.stringify(text)}`;
}

/** Each document that a hit comes from, once, with the score of its best hit. */
async function addDocumentResults(
  pieces: Piece[],
  hits: readonly DocumentHit[],
  scores: readonly string[],
  showing: Showing,
): Promise<void> {
  pieces.push('],"document_results":[');
  const shown = new Set<number>();
  for (const [i, hit] of hits.entries()) {
    const { version } = hit.version;
    if (shown.has(version)) continue;
    const turn = showing.yieldToEventLoop();
    if (turn !== null) await turn;
    addDocument(pieces, hit, showing, { isFirst: shown.size === 0, score: scores[i]!, more: '' });
    shown.add(version);
  }
}

function ending(found: Found<DocumentHit>, { explain }: Showing): string {
  const warnings = warningsOf(found);
  const warned = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`;
  return explain ? `]${warned},"explain":${JSON.stringify(explanationOf(found))}}` : `]${warned}}`;
}

function warningsOf({ models, choice }: Found<DocumentHit>): string[] {
  const warnings = models.missing.map(({ part, model, reason }) =>
    warning[part](JSON.stringify(model), reason),
  );
  return choice.complete ? warnings : [...warnings, incomplete(choice.checked)];
}

function explanationOf(found: Found<DocumentHit>): QueryExplanation {
  const { shards, times, models, choice, corrections } = found;
  return {
    shards,
    ms: { ...times },
    missing: [...models.missing],
    spelling: corrections.map(({ typed, terms, read }) => ({ typed, terms: [...terms], read_as: read })),
    looked_at: choice.looked,
    control: controlOf(found),
  };
}

function controlOf({ control, choice }: Found<DocumentHit>): QueryExplanation['control'] {
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

function incomplete(checked: number): string {
  return `The search ended at its limits, after ${checked.toLocaleString('en-US')} passages: there may be more that the query would let through.`;
}

/** What somebody is told who asked for more than could be done. */
const warning = {
  vector: (model: string, reason: string) =>
    `Only words were compared: the embedding model ${model} does not answer: ${reason}.`,
  rerank: (model: string, reason: string) =>
    `The results are not reranked: the model ${model} does not answer: ${reason}.`,
};

/** A document with the comma that parts it from the one before; `more` are fields that follow the others. */
function addDocument(
  pieces: Piece[],
  { version }: DocumentHit,
  { metadata, fileUrl }: Showing,
  { isFirst, score, more }: { readonly isFirst: boolean; readonly score: string; readonly more: string },
): void {
  const shown = shownVersion(version, fileUrl);
  pieces.push(isFirst ? shown.before.subarray(1) : shown.before, score);
  if (metadata || more !== '')
    pieces.push(encoded(behindScore(version, metadata ? version.metadata : null, fileUrl)), `${more}}`);
  else pieces.push(shown.behind);
}

/** What is the same of a document in all replies of one address that show no metadata; made once. */
function shownVersion(version: KeptVersion, fileUrl: string): ShownVersion {
  if (version.shown?.address !== fileUrl)
    version.shown = {
      before: utf8(`,{"path":${version.pathJson},"score":`),
      behind: utf8(`${behindScore(version, null, fileUrl)}}`),
      address: fileUrl,
    };
  return version.shown;
}

function behindScore(
  version: KeptVersion,
  metadata: KeptVersion['metadata'] | null,
  fileUrl: string,
): string {
  const url = `${JSON.stringify(fileUrl).slice(0, -1)}${version.fileToken()}"`;
  return `,"metadata":${JSON.stringify(metadata)},"file_url":${url}`;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function explained({ origin }: DocumentHit, { explain }: Showing): string {
  if (!explain) return '';
  const explanation: ResultExplanation = {
    lexical: { score: origin.lexical, terms: [...origin.words] },
    vector: { similarity: origin.similarity },
    fused: origin.fused,
    rerank: origin.rerank,
    look: origin.look,
  };
  return `,"explain":${JSON.stringify(explanation)}`;
}

/** As JSON: writing a number takes as long as finding what it stands beside, so each is written once. */
function scoresOf({ hits }: Found<DocumentHit>): string[] {
  return hits.map(({ score }) => numeral(score));
}

/** A number as JSON has it; unlike `String` this leaves V8's cache of numbers alone, which no two scores have in common. */
function numeral(value: number): string {
  return JSON.stringify(value);
}
