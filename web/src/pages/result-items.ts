import { findBestSentence } from '../../../src/core/excerpt.ts';
import type * as wire from '../../../src/schemas/queries.ts';
import { countCodePoints, type Passage } from './passage.ts';
import type { SearchReplyBody } from './search-query.ts';

/** A result of any kind, as the lists show it. */
export interface ResultItem {
  /** Unique within a reply. */
  readonly key: string;
  readonly path: string;
  /** First page, from 0; null if the result has no page. */
  readonly page: number | null;
  /** The page after the last one. */
  readonly end: number | null;
  /** Range of a snippet in the text of the document, in code points. */
  readonly span: { readonly start: number; readonly end: number } | null;
  /** Passage that answers the query. */
  readonly passage: Passage | undefined;
  /** Null for documents. */
  readonly text: string | null;
  readonly metadata: wire.DocumentRetrievalResponse['metadata'];
  /** URL of the page image; undefined if it must be loaded. */
  readonly image: string | null | undefined;
  readonly score: number;
  readonly explain: wire.ResultExplanation | undefined;
  /** Ranges of the text in code points that match the query, if they were requested. */
  readonly highlights: readonly (readonly number[])[] | undefined;
}

export function toResultItems(found: SearchReplyBody): readonly ResultItem[] {
  switch (found.kind) {
    case 'snippets':
      return found.results.map(fromSnippet);
    case 'pages':
      return found.results.map(fromPage);
    case 'documents':
      return found.results.map(({ path, score, metadata, explain }) => ({
        key: path,
        path,
        page: null,
        end: null,
        span: null,
        passage: undefined,
        text: null,
        metadata,
        image: null,
        score,
        explain,
        highlights: undefined,
      }));
  }
}

function fromSnippet(result: wire.SnippetResponse): ResultItem {
  const { path, start_index: start, end_index: end, content: text, score, explain } = result;
  const [first = 0, last = 1] = result.page_span;
  return {
    key: `${path}\n${start}\n${end}`,
    path,
    page: first,
    end: last,
    span: { start, end },
    passage: passageOfSnippet(result),
    text,
    metadata: null,
    image: undefined,
    score,
    explain,
    highlights: result.highlights,
  };
}

function fromPage(result: wire.PageRetrievalResponse): ResultItem {
  const { path, page_index: page, content, image_url: image, score, explain } = result;
  return {
    key: `${path}\n${page}`,
    path,
    page,
    end: page + 1,
    span: null,
    passage: passageOfPage(result),
    text: content ?? '',
    metadata: null,
    image,
    score,
    explain,
    highlights: result.highlights,
  };
}

/** Passage that answers the query: the best sentence of the snippet, else all of it. */
function passageOfSnippet({
  content,
  start_index: start,
  end_index: end,
  explain,
}: wire.SnippetResponse): Passage {
  const best = findBestSentence(content, explain?.lexical.words ?? []);
  if (best === null) return { page: null, start, end };
  const first = start + countCodePoints(content.slice(0, best.start));
  const length = countCodePoints(content.slice(best.start, best.end));
  return { page: null, start: first, end: first + length };
}

/** The best sentence of a page, if it contains a word of the query. */
function passageOfPage({
  content,
  page_index: page,
  explain,
}: wire.PageRetrievalResponse): Passage | undefined {
  const text = content ?? '';
  const best = findBestSentence(text, explain?.lexical.words ?? []);
  if (best === null) return undefined;
  const start = countCodePoints(text.slice(0, best.start));
  return { page, start, end: start + countCodePoints(text.slice(best.start, best.end)) };
}
