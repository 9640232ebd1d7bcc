import { countCodePoints } from '../core/code-points.ts';
import { limits } from '../core/limits.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { GetCollectionListResponse } from '../schemas/collections.ts';
import type { GetDocumentInfoListResponse } from '../schemas/document-list.ts';
import type { GetDocumentTextResponse } from '../schemas/document-text.ts';
import type { GetPageInfoResponse } from '../schemas/documents.ts';
import type { SnippetResponse, TopSnippetsResponse } from '../schemas/queries.ts';
import { Type } from '../schemas/typebox.ts';
import type { McpApi } from './mcp-api.ts';
import { formatPageImageUri } from './page-image-uri.ts';
import { renderFacets, searchOrderFields, toOrderFields } from './search-order.ts';
import { TokenBudget } from './token-budget.ts';
import {
  collectionField,
  defineTool,
  type McpTool,
  type McpToolReply,
  maxTokensField,
  pathField,
} from './tool.ts';

const searchResultsDefault = 8;
const listedDocumentsDefault = 50;

const maxResultsField = Type.Optional(
  Type.Integer({
    description: `Maximum number of snippets, 1 to ${limits.mcpResultsMax}; default ${searchResultsDefault}.`,
    minimum: 1,
    maximum: limits.mcpResultsMax,
  }),
);

export const readingTools: readonly McpTool[] = [
  defineTool({
    name: 'search',
    title: 'Search documents',
    description:
      'Finds the snippets of a collection that answer a question, best first. Each result names its document, pages and characters; read_document reads more around it.',
    fields: {
      collection: collectionField,
      query: Type.String({ description: 'The question or the words to find, in natural language.' }),
      other_queries: Type.Optional(
        Type.Array(Type.String(), {
          description: `Other wordings of the question, at most ${queryLimits.queriesPerRequestMax - 1}; the results of all are combined.`,
          maxItems: queryLimits.queriesPerRequestMax - 1,
        }),
      ),
      other_collections: Type.Optional(
        Type.Array(Type.String(), {
          description: `Other collections to search, at most ${queryLimits.collectionsPerRequestMax - 1}.`,
          maxItems: queryLimits.collectionsPerRequestMax - 1,
        }),
      ),
      max_results: maxResultsField,
      filter: Type.Optional(
        Type.Unknown({
          description:
            'Filter on metadata: `{name: {operator: value}}` with $eq $ne $gt $gte $lt $lte $between $prefix $in $nin $contains $exists, combined with $and, $or and $not. Values are strings, numbers, booleans or dates as `{"$date": "2026-03-31"}`; a value matches operands of its type only.',
        }),
      ),
      ...searchOrderFields,
      cursor: Type.Optional(
        Type.String({
          description:
            'Continue after the results of an earlier reply, which names the cursor; keep the other arguments. Not with other_queries or group_by.',
        }),
      ),
      max_tokens: maxTokensField,
    },
    run: async (api, { query, other_queries, other_collections, filter, cursor, ...args }) => {
      const { sort, boost, group_by, facets } = args;
      const hasPages = other_queries === undefined && group_by === undefined;
      return findSnippets(api, args, {
        query,
        ...(other_queries === undefined ? {} : { queries: other_queries }),
        ...(other_collections === undefined ? {} : { collection_names: other_collections }),
        filter,
        ...toOrderFields({ sort, boost, group_by, facets }),
        ...(cursor === undefined ? {} : { cursor }),
        ...(hasPages ? { include_cursor: true } : {}),
      });
    },
  }),
  defineTool({
    name: 'find_similar',
    title: 'Find similar snippets',
    description:
      'Finds snippets that are similar in meaning to a document, or to its snippet at a character offset, best first. The document, or this snippet, is left out.',
    fields: {
      collection: collectionField,
      path: pathField,
      offset: Type.Optional(
        Type.Integer({
          description: 'Compare the snippet at this character offset instead of the whole document.',
        }),
      ),
      max_results: maxResultsField,
      max_tokens: maxTokensField,
    },
    run: async (api, { path, offset, ...args }) =>
      findSnippets(api, args, {
        query: '',
        similar_to: { path, ...(offset === undefined ? {} : { start_index: offset }) },
      }),
  }),
  defineTool({
    name: 'read_document',
    title: 'Read a document',
    description:
      'Returns the text of a document starting at a page or a character offset. If the text is longer than the reply, the reply names the offset to continue at.',
    fields: {
      collection: collectionField,
      path: pathField,
      page: Type.Optional(Type.Integer({ description: 'Page to read, starting with 0.' })),
      offset: Type.Optional(Type.Integer({ description: 'First character to read, starting with 0.' })),
      max_tokens: maxTokensField,
    },
    run: readDocument,
  }),
  defineTool({
    name: 'list_collections',
    title: 'List collections',
    description: 'Lists the names of all collections that can be searched.',
    fields: { max_tokens: maxTokensField },
    run: async (api, { max_tokens }) => {
      const { collection_names: names } = (await api.call(
        'collections/get-collection-list',
        {},
      )) as GetCollectionListResponse;
      if (names.length === 0) return { text: 'There are no collections.' };
      const { lines, omitted } = fitLines(names, new TokenBudget(max_tokens));
      const end = omitted === 0 ? '' : `\n${omitted} more do not fit; raise max_tokens.`;
      return { text: lines.join('\n') + end };
    },
  }),
  defineTool({
    name: 'list_documents',
    title: 'List documents',
    description:
      'Lists the documents of a collection in the order of their paths, with status, pages and metadata.',
    fields: {
      collection: collectionField,
      prefix: Type.Optional(Type.String({ description: 'Only paths that start with this text.' })),
      after: Type.Optional(
        Type.String({ description: 'Only paths after this one; the last path of the previous reply.' }),
      ),
      limit: Type.Optional(
        Type.Integer({
          description: `Maximum number of documents, 1 to ${limits.mcpDocumentsMax}; default ${listedDocumentsDefault}.`,
          minimum: 1,
          maximum: limits.mcpDocumentsMax,
        }),
      ),
      max_tokens: maxTokensField,
    },
    run: async (api, { collection, prefix, after, limit, max_tokens }) => {
      const count = limit ?? listedDocumentsDefault;
      const { documents } = (await api.call('documents/get-document-info-list', {
        collection_name: collection,
        limit: count,
        path_prefix: prefix ?? null,
        path_gt: after ?? null,
      })) as GetDocumentInfoListResponse;
      if (documents.length === 0) return { text: 'No documents.' };
      const { lines } = fitLines(documents.map(describeDocument), new TokenBudget(max_tokens));
      const last = documents[lines.length - 1];
      if (last === undefined) return { text: 'The first document does not fit; raise max_tokens.' };
      const mayHaveMore = lines.length < documents.length || documents.length === count;
      const end = mayHaveMore ? `\nFor more, call again with after: ${JSON.stringify(last.path)}` : '';
      return { text: lines.join('\n') + end };
    },
  }),
];

async function findSnippets(
  api: McpApi,
  {
    collection,
    max_results,
    max_tokens,
  }: { readonly collection: string; readonly max_results?: number; readonly max_tokens?: number },
  fields: object,
): Promise<McpToolReply> {
  const request = { collection_name: collection, k: max_results ?? searchResultsDefault, ...fields };
  const reply = (await api.call('queries/top-snippets', request)) as TopSnippetsResponse;
  const budget = new TokenBudget(max_tokens);
  const counts = renderFacets(reply.facets ?? [], budget);
  return { text: renderSnippets(reply, budget) + counts };
}

function describeDocument({
  path,
  index_status,
  num_pages,
  metadata,
}: GetDocumentInfoListResponse['documents'][number]): string {
  const pages = num_pages === null ? '' : `, ${num_pages} pages`;
  return `${path} (${index_status}${pages}) ${JSON.stringify(metadata)}`;
}

function fitLines(
  all: readonly string[],
  budget: TokenBudget,
): { readonly lines: readonly string[]; readonly omitted: number } {
  const end = all.findIndex((line) => !budget.spend(`${line}\n`));
  return end === -1 ? { lines: all, omitted: 0 } : { lines: all.slice(0, end), omitted: all.length - end };
}

function renderSnippets(
  { results: snippets, groups = [], next_cursor: cursor = null }: TopSnippetsResponse,
  budget: TokenBudget,
): string {
  if (snippets.length === 0) return 'No results.';
  const blocks: string[] = [];
  const headings = groupHeadings(groups);
  for (const [i, snippet] of snippets.entries()) {
    const block = `${headings.get(i) ?? ''}${describeSnippet(snippet, i + 1)}\n${snippet.content}`;
    if (budget.spend(block)) blocks.push(block);
    else if (blocks.length === 0) blocks.push(`${budget.spendStart(block)}\n(cut off)`);
    else break;
  }
  const omitted = snippets.length - blocks.length;
  if (omitted > 0) blocks.push(`${omitted} more results do not fit; raise max_tokens.`);
  else if (cursor !== null)
    blocks.push(`For more results, call again with cursor: ${JSON.stringify(cursor)}`);
  return blocks.join('\n\n');
}

/** Returns the headings of groups by the index of their first result. */
function groupHeadings(groups: NonNullable<TopSnippetsResponse['groups']>): ReadonlyMap<number, string> {
  const headings = new Map<number, string>();
  let index = 0;
  for (const { value, results } of groups) {
    headings.set(index, value === null ? 'Without a value:\n' : `${JSON.stringify(value)}:\n`);
    index += results;
  }
  return headings;
}

function describeSnippet(
  { path, collection_name, page_span, start_index, end_index, score }: SnippetResponse,
  number: number,
): string {
  const pages = formatPages(page_span);
  const where = collection_name === undefined ? path : `${path} in ${collection_name}`;
  return `[${number}] ${where}, ${pages}, characters ${start_index}-${end_index}, score ${score.toFixed(3)}`;
}

/** `span`: the first page, and the page after the last one. */
function formatPages([first = 0, end = first + 1]: readonly number[]): string {
  return end - first > 1 ? `pages ${first}-${end - 1}` : `page ${first}`;
}

async function readDocument(
  api: McpApi,
  args: {
    readonly collection: string;
    readonly path: string;
    readonly page?: number;
    readonly offset?: number;
    readonly max_tokens?: number;
  },
): Promise<McpToolReply> {
  const { collection, path, page, offset } = args;
  const budget = new TokenBudget(args.max_tokens);
  const { text } = (await api.call('documents/get-document-text', {
    collection_name: collection,
    path,
    page_index: page ?? null,
    start_index: offset ?? null,
    max_characters: Math.min(limits.textRangeCharactersMax, budget.charactersMax),
  })) as GetDocumentTextResponse;
  const content = budget.spendStart(text.content);
  const end = content === text.content ? text.end_index : text.start_index + countCodePoints(content);
  const next = end < text.end_index ? end : text.next_index;
  const where = page === undefined ? formatPages(text.page_span) : `page ${page}`;
  const header = `${path}: ${where} of ${text.num_pages}, characters ${text.start_index}-${end} of ${text.length}`;
  const footer = next === null ? '' : `\n\nTo continue, call again with offset ${next}.`;
  const image = page === undefined ? null : await findPageImage(api, { collection, path, page });
  return { text: `${header}\n\n${content}${footer}`, ...(image === null ? {} : { image }) };
}

async function findPageImage(
  api: McpApi,
  address: { readonly collection: string; readonly path: string; readonly page: number },
): Promise<NonNullable<McpToolReply['image']> | null> {
  if ((await findPageImageUrl(api, address)) === null) return null;
  return { uri: formatPageImageUri(address), name: `${address.path}, page ${address.page}` };
}

/** Returns the URL of a page image; null if the page has none. Errors: 404 for an unknown page. */
export async function findPageImageUrl(
  api: McpApi,
  { collection, path, page }: { readonly collection: string; readonly path: string; readonly page: number },
): Promise<string | null> {
  const request = { collection_name: collection, path, page_index: page };
  return ((await api.call('documents/get-page-info', request)) as GetPageInfoResponse).page.image_url;
}
