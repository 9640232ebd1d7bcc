import { createTool, type Tool } from '@mastra/core/tools';
import { findSnippets, type QuarryClient, type TopSnippetsRequest } from '@quarry/client';

export interface QuarryQueryToolOptions {
  readonly client: Pick<QuarryClient, 'queries'>;
  readonly collectionName: string;
  /** Default: `quarry-<collection>-query`, with other characters than letters, digits, `-` and `_` replaced. */
  readonly id?: string | undefined;
  /** Tells the agent what the collection contains. */
  readonly description?: string | undefined;
  /** Maximum number of results if the agent does not choose one, 1 to 128. Default: 10. */
  readonly topK?: number | undefined;
  /** Condition on the metadata of documents, which the agent cannot change: `{ year: { $gte: 2025 } }`. */
  readonly filter?: unknown;
  /** Whether the agent may add a condition of its own. Default: false. */
  readonly enableFilter?: boolean | undefined;
  /** Other fields of `top-snippets`, such as `reranker`, `min_score` or `precise_responses`. */
  readonly options?:
    | Omit<Partial<TopSnippetsRequest>, 'collection_name' | 'query' | 'k' | 'filter'>
    | undefined;
}

export interface QuarryQueryInput {
  queryText: string;
  topK?: number;
  filter?: Record<string, unknown>;
}

/** The shape of the vector query tool of Mastra. */
export interface QuarryQueryOutput {
  /** Metadata of each result with its `text`, best first. */
  relevantContext: Record<string, unknown>[];
  sources: { id: string; score: number; metadata: Record<string, unknown>; document: string }[];
}

const topKDefault = 10;
const topKMax = 128;
const descriptionDefault = 'Access the knowledge base to find information needed to answer user questions.';

/**
 * Creates a tool that searches one collection, with the input and output of the vector query tool of Mastra. The server
 * embeds the query, so that no embedding model is needed.
 */
export function createQuarryQueryTool(
  settings: QuarryQueryToolOptions,
): Tool<QuarryQueryInput, QuarryQueryOutput> {
  const { client, collectionName, topK = topKDefault, options } = settings;
  return createTool({
    id: settings.id ?? `quarry-${collectionName.replace(/[^\w-]+/g, '_')}-query`,
    description: settings.description ?? descriptionDefault,
    inputSchema: inputSchema(settings.enableFilter === true),
    execute: async (input, context): Promise<QuarryQueryOutput> => {
      const { queryText, topK: k = topK, filter } = input as QuarryQueryInput;
      const snippets = await findSnippets(
        client,
        {
          ...options,
          collection_name: collectionName,
          query: queryText,
          k,
          filter: bothFilters(settings.filter, settings.enableFilter === true ? filter : undefined),
        },
        { signal: context?.abortSignal },
      );
      const sources = snippets.map((snippet) => {
        const { id, score, content, path, page_span, start_index, end_index, metadata } = snippet;
        const position = { source: path, page_span, start_index, end_index };
        return { id, score, metadata: { ...metadata, ...position, text: content }, document: content };
      });
      return { relevantContext: sources.map(({ metadata }) => metadata), sources };
    },
  }) as Tool<QuarryQueryInput, QuarryQueryOutput>;
}

const filterSchema = {
  type: 'object' as const,
  description:
    'Condition on the metadata of documents: {"author": "Ada"}, {"year": {"$gte": 2025}}, {"$and": [...]}.',
  additionalProperties: true,
};

function inputSchema(enableFilter: boolean) {
  const properties = {
    queryText: {
      type: 'string' as const,
      description: 'The question or the words to find, in natural language.',
    },
    topK: {
      type: 'integer' as const,
      minimum: 1,
      maximum: topKMax,
      description: 'Maximum number of results.',
    },
  };
  return {
    type: 'object' as const,
    properties: enableFilter ? { ...properties, filter: filterSchema } : properties,
    required: ['queryText'],
    additionalProperties: false,
  };
}

function bothFilters(fixed: unknown, chosen: unknown): unknown {
  if (fixed === undefined || fixed === null) return chosen;
  return chosen === undefined ? fixed : { $and: [fixed, chosen] };
}
