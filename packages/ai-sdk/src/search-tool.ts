import {
  type DocumentMetadataJson,
  findSnippets,
  type QuarryClient,
  type TopSnippetsRequest,
} from '@quarry/client';
import { jsonSchema, type Tool, tool } from 'ai';

export interface SearchToolOptions {
  readonly client: Pick<QuarryClient, 'queries'>;
  readonly collectionName: string;
  /** Tells the model what the collection contains. */
  readonly description?: string | undefined;
  /** Maximum number of results, 1 to 128. Default: 5. */
  readonly k?: number | undefined;
  /** Condition on the metadata of documents, which the model cannot change: `{ year: { $gte: 2025 } }`. */
  readonly filter?: unknown;
  /** Other fields of `top-snippets`, such as `reranker`, `min_score` or `precise_responses`. */
  readonly options?:
    | Omit<Partial<TopSnippetsRequest>, 'collection_name' | 'query' | 'k' | 'filter'>
    | undefined;
}

export interface SearchToolInput {
  readonly query: string;
}

/** Result of a search, as the model reads it. */
export interface SearchToolResult {
  /** Path of the document. */
  path: string;
  content: string;
  /** Relevance within the query, 0 to 1. */
  score: number;
  /** First page, and end page (exclusive). */
  page_span: number[];
  /** Metadata of the document. */
  metadata: DocumentMetadataJson;
}

const kDefault = 5;
const descriptionDefault =
  'Searches the documents of the knowledge base. Returns snippets with the paths of their documents, best first.';

/** Creates a tool that searches one collection. It is stopped with the generation that called it. */
export function createSearchTool(search: SearchToolOptions): Tool<SearchToolInput, SearchToolResult[]> {
  const { client, collectionName, description = descriptionDefault, k = kDefault, filter, options } = search;
  return tool({
    description,
    inputSchema: jsonSchema<SearchToolInput>({
      type: 'object',
      properties: {
        query: { type: 'string', description: 'The question or the words to find, in natural language.' },
      },
      required: ['query'],
      additionalProperties: false,
    }),
    execute: async ({ query }, { abortSignal }): Promise<SearchToolResult[]> => {
      const snippets = await findSnippets(
        client,
        { ...options, collection_name: collectionName, query, k, filter },
        { signal: abortSignal },
      );
      return snippets.map(({ path, content, score, page_span, metadata }) => ({
        path,
        content,
        score,
        page_span,
        metadata,
      }));
    },
  });
}
