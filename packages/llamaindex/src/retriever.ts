import type { QueryBundle } from '@llamaindex/core/query-engine';
import { BaseRetriever } from '@llamaindex/core/retriever';
import { type NodeWithScore, TextNode } from '@llamaindex/core/schema';
import { extractText } from '@llamaindex/core/utils';
import { findSnippets, type QuarryClient, type TopSnippetsRequest } from '@quarry/client';

export interface QuarryRetrieverOptions {
  readonly client: Pick<QuarryClient, 'queries'>;
  readonly collectionName: string;
  /** Maximum number of nodes, 1 to 128. Default: 4. */
  readonly similarityTopK?: number | undefined;
  /** Condition on the metadata of documents: `{ year: { $gte: 2025 } }`. */
  readonly filter?: unknown;
  /** Other fields of `top-snippets`, such as `reranker`, `min_score` or `precise_responses`. */
  readonly options?:
    | Omit<Partial<TopSnippetsRequest>, 'collection_name' | 'query' | 'k' | 'filter'>
    | undefined;
}

const similarityTopKDefault = 4;
/** Metadata that says nothing to a language model. */
const positionKeys = ['collection_name', 'page_span', 'start_index', 'end_index'];

/**
 * Retrieves snippets of a collection. The metadata of a node is that of its document, and `source` (path),
 * `collection_name`, `page_span`, `start_index` and `end_index`, which take precedence. Errors are those of
 * `@quarry/client`.
 */
export class QuarryRetriever extends BaseRetriever {
  readonly #options: QuarryRetrieverOptions;

  constructor(options: QuarryRetrieverOptions) {
    super();
    this.#options = options;
  }

  override async _retrieve({ query }: QueryBundle): Promise<NodeWithScore[]> {
    const { client, collectionName, similarityTopK = similarityTopKDefault, filter, options } = this.#options;
    const snippets = await findSnippets(client, {
      ...options,
      collection_name: collectionName,
      query: extractText(query),
      k: similarityTopK,
      filter,
    });
    return snippets.map(
      ({ id, content, path, collection_name, score, page_span, start_index, end_index, metadata }) => ({
        node: new TextNode({
          id_: id,
          text: content,
          metadata: { ...metadata, source: path, collection_name, page_span, start_index, end_index },
          excludedLlmMetadataKeys: positionKeys,
          excludedEmbedMetadataKeys: positionKeys,
        }),
        score,
      }),
    );
  }
}
