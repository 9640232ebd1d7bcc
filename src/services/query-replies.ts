import type {
  QueryExplanation,
  ResultExplanation,
  TopDocumentsResponse,
  TopPagesResponse,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { DocumentHit, Found, PageHit, SnippetHit } from '../search/search.ts';
import { Rendered } from './rendered.ts';

/** What a reply shows of its hits beyond what was found. */
export interface Showing {
  readonly metadata: boolean;
  readonly explain: boolean;
  /** Where the file of a token is, as JSON. */
  readonly fileUrlJson: (token: string) => string;
}

export interface PageShowing extends Showing {
  /** Text of the page, null when the reply does not show it. */
  readonly content: (hit: PageHit) => string | null;
  readonly imageUrl: (hit: PageHit) => string | null;
}

/*
 * The replies of queries as JSON: what `JSON.stringify` makes of them, byte for byte, for a fraction of its time,
 * since most of a reply is text whose JSON is kept beside it.
 */

export function documentsReply(found: Found<DocumentHit>, showing: Showing): Rendered<TopDocumentsResponse> {
  const results = found.hits.map(
    (hit) => `${document(hit, numeral(hit.score), showing)}${explained(hit, showing)}}`,
  );
  return new Rendered([`{"results":[${results.join()}${ending(found, showing)}`]);
}

export function pagesReply(found: Found<PageHit>, showing: PageShowing): Rendered<TopPagesResponse> {
  const scores = found.hits.map(({ score }) => numeral(score));
  const results = found.hits.map((hit, i) => {
    const place = `"path":${hit.version.pathJson},"page_index":${hit.pageIndex}`;
    const content = JSON.stringify(showing.content(hit));
    const image = JSON.stringify(showing.imageUrl(hit));
    const shown = `"content":${content},"image_url":${image}${explained(hit, showing)}`;
    return `{${place},"score":${scores[i]!},${shown}}`;
  });
  const documents = documentResults(found.hits, scores, showing);
  return new Rendered([`{"results":[${results.join()}${documents}${ending(found, showing)}`]);
}

export function snippetsReply(found: Found<SnippetHit>, showing: Showing): Rendered<TopSnippetsResponse> {
  const pieces: (string | Uint8Array)[] = [];
  let behind = '{"results":[';
  const scores = found.hits.map(({ score }) => numeral(score));
  for (const [i, hit] of found.hits.entries()) {
    const span = `"start_index":${hit.start},"end_index":${hit.end},"page_span":[${hit.pageStart},${hit.pageEnd}]`;
    const before = `${i === 0 ? '' : ','}{"path":${hit.version.pathJson},${span},"content":`;
    pieces.push(behind + before, hit.textJson?.() ?? JSON.stringify(hit.text));
    behind = `,"score":${scores[i]!}${explained(hit, showing)}}`;
  }
  pieces.push(behind + documentResults(found.hits, scores, showing) + ending(found, showing));
  return new Rendered(pieces);
}

/** Each document that a hit comes from, once, with the score of its best hit; `scores` are those of the hits. */
function documentResults(hits: readonly DocumentHit[], scores: readonly string[], showing: Showing): string {
  const shown = new Set<number>();
  let results = '],"document_results":[';
  for (const [i, hit] of hits.entries()) {
    const { version } = hit.version;
    if (shown.has(version)) continue;
    results += `${shown.size === 0 ? '' : ','}${document(hit, scores[i]!, showing)}}`;
    shown.add(version);
  }
  return results;
}

function ending(found: Found<DocumentHit>, { explain }: Showing): string {
  const { shards, times, models, choice, corrections } = found;
  const missing = [...models.missing];
  const spelling = corrections.map(({ typed, terms, read }) => ({ typed, terms: [...terms], read_as: read }));
  const control = controlOf(found);
  const explanation: QueryExplanation = {
    shards,
    ms: { ...times },
    missing,
    spelling,
    looked_at: choice.looked,
    control,
  };
  const warnings = missing.map(({ part, model, reason }) => warning[part](JSON.stringify(model), reason));
  if (!choice.complete) warnings.push(incomplete(choice.checked));
  const warned = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`;
  return explain ? `]${warned},"explain":${JSON.stringify(explanation)}}` : `]${warned}}`;
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

/** A document's fields without the closing brace. */
function document({ version }: DocumentHit, score: string, { metadata, fileUrlJson }: Showing): string {
  const shown = metadata ? JSON.stringify(version.metadata) : 'null';
  const url = fileUrlJson(version.fileToken());
  return `{"path":${version.pathJson},"score":${score},"metadata":${shown},"file_url":${url}`;
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

/** A number as JSON has it. */
function numeral(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null';
}
