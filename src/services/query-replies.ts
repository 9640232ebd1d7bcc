import type {
  QueryExplanation,
  ResultExplanation,
  TopDocumentsResponse,
  TopPagesResponse,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { DocumentHit, Found, PageHit, SnippetHit } from '../search/search.ts';
import { JsonWriter, Rendered } from './rendered.ts';

/** What a reply shows of its hits beyond what was found. */
export interface Showing {
  readonly metadata: boolean;
  readonly explain: boolean;
  readonly fileUrl: (documentId: string) => string;
}

export interface PageShowing extends Showing {
  /** Text of the page, null when the reply does not show it. */
  readonly content: (hit: PageHit) => string | null;
  readonly imageUrl: (hit: PageHit) => string | null;
}

/**
 * The replies of queries as JSON: what `JSON.stringify` makes of them, byte for byte, for a fraction of its time,
 * since most of a reply is text whose JSON is kept beside it.
 */
export class QueryReplies {
  readonly #writer = new JsonWriter();

  documents(found: Found<DocumentHit>, showing: Showing): Rendered<TopDocumentsResponse> {
    this.#writer.begin();
    this.#writer.text('{"results":[');
    found.hits.forEach((hit, i) => {
      this.#writer.text(`${comma(i)}${document(hit, showing)}${explained(hit, showing)}}`);
    });
    return this.#end(found, showing);
  }

  pages(found: Found<PageHit>, showing: PageShowing): Rendered<TopPagesResponse> {
    this.#writer.begin();
    this.#writer.text('{"results":[');
    found.hits.forEach((hit, i) => {
      const place = `"path":${JSON.stringify(hit.version.path)},"page_index":${hit.pageIndex}`;
      const content = JSON.stringify(showing.content(hit));
      const image = JSON.stringify(showing.imageUrl(hit));
      this.#writer.text(
        `${comma(i)}{${place},"score":${numeral(hit.score)},"content":${content},"image_url":${image}${explained(hit, showing)}}`,
      );
    });
    this.#documentResults(found.hits, showing);
    return this.#end(found, showing);
  }

  snippets(found: Found<SnippetHit>, showing: Showing): Rendered<TopSnippetsResponse> {
    this.#writer.begin();
    let open = '{"results":[';
    for (const hit of found.hits) {
      const span = `"start_index":${hit.start},"end_index":${hit.end},"page_span":[${hit.pageStart},${hit.pageEnd}]`;
      this.#writer.text(`${open}{"path":${JSON.stringify(hit.version.path)},${span},"content":`);
      if (hit.textJson === null) this.#writer.text(JSON.stringify(hit.text));
      else this.#writer.bytes(hit.textJson);
      open = `,"score":${numeral(hit.score)}${explained(hit, showing)}},`;
    }
    this.#writer.text(found.hits.length === 0 ? open : open.slice(0, -1));
    this.#documentResults(found.hits, showing);
    return this.#end(found, showing);
  }

  /** Each document that a hit comes from, once, with the score of its best hit. */
  #documentResults(hits: readonly DocumentHit[], showing: Showing): void {
    const shown = new Set<number>();
    let results = '],"document_results":[';
    for (const hit of hits) {
      const { version } = hit.version;
      if (shown.has(version)) continue;
      results += `${comma(shown.size)}${document(hit, showing)}}`;
      shown.add(version);
    }
    this.#writer.text(results);
  }

  #end<Body>({ shards, times }: Found<DocumentHit>, { explain }: Showing): Rendered<Body> {
    const explanation: QueryExplanation = { shards, ms: { ...times } };
    this.#writer.text(explain ? `],"explain":${JSON.stringify(explanation)}}` : ']}');
    return new Rendered(this.#writer.take());
  }
}

/** A document's fields without the closing brace. */
function document({ version, score }: DocumentHit, { metadata, fileUrl }: Showing): string {
  const shown = metadata ? JSON.stringify(version.metadata) : 'null';
  const url = JSON.stringify(fileUrl(version.documentId));
  return `{"path":${JSON.stringify(version.path)},"score":${numeral(score)},"metadata":${shown},"file_url":${url}`;
}

function explained({ origin }: DocumentHit, { explain }: Showing): string {
  if (!explain) return '';
  const explanation: ResultExplanation = {
    lexical: { score: origin.lexical, terms: [...origin.words] },
    vector: { similarity: origin.similarity },
    fused: origin.fused,
    rerank: origin.rerank,
  };
  return `,"explain":${JSON.stringify(explanation)}`;
}

function comma(position: number): string {
  return position === 0 ? '' : ',';
}

/** A number as JSON has it. */
function numeral(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null';
}
