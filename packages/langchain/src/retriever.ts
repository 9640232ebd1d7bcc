import type { CallbackManagerForRetrieverRun } from '@langchain/core/callbacks/manager';
import { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import { findSnippets, type QuarryClient, type TopSnippetsRequest } from '@quarry/client';

export interface QuarryRetrieverInput extends BaseRetrieverInput {
  readonly client: Pick<QuarryClient, 'queries'>;
  readonly collectionName: string;
  /** Maximum number of documents, 1 to 128. Default: 4. */
  readonly k?: number | undefined;
  /** Condition on the metadata of documents: `{ year: { $gte: 2025 } }`. */
  readonly filter?: unknown;
  /** Other fields of `top-snippets`, such as `reranker`, `min_score` or `precise_responses`. */
  readonly options?:
    | Omit<Partial<TopSnippetsRequest>, 'collection_name' | 'query' | 'k' | 'filter'>
    | undefined;
}

/** Metadata of a retrieved document: that of the document in Quarry, and these fields, which take precedence. */
export interface QuarryDocumentMetadata extends Record<string, unknown> {
  /** Path of the document. */
  source: string;
  collection_name: string;
  /** Relevance within the query, 0 to 1. */
  score: number;
  /** First page, and end page (exclusive). */
  page_span: number[];
  /** Range of the text in the document, in code points. */
  start_index: number;
  end_index: number;
}

const kDefault = 4;

/** Retrieves snippets of a collection. Errors are those of `@quarry/client`. */
export class QuarryRetriever extends BaseRetriever<QuarryDocumentMetadata> {
  readonly lc_namespace = ['quarry', 'retrievers'];
  readonly #input: QuarryRetrieverInput;

  static override lc_name(): string {
    return 'QuarryRetriever';
  }

  constructor(input: QuarryRetrieverInput) {
    const { callbacks, tags, metadata, verbose } = input;
    super({
      ...(callbacks === undefined ? {} : { callbacks }),
      ...(tags === undefined ? {} : { tags }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(verbose === undefined ? {} : { verbose }),
    });
    this.#input = input;
  }

  override async _getRelevantDocuments(
    query: string,
    _callbacks?: CallbackManagerForRetrieverRun,
  ): Promise<Document<QuarryDocumentMetadata>[]> {
    const { client, collectionName, k = kDefault, filter, options } = this.#input;
    const snippets = await findSnippets(client, {
      ...options,
      collection_name: collectionName,
      query,
      k,
      filter,
    });
    return snippets.map(
      ({ id, content, path, collection_name, score, page_span, start_index, end_index, metadata }) =>
        new Document({
          id,
          pageContent: content,
          metadata: { ...metadata, source: path, collection_name, score, page_span, start_index, end_index },
        }),
    );
  }
}
