import { BenchUsageError, type FlagSpec } from './flag-specs.ts';

/** A kind of query that users send. */
export interface QueryCall {
  readonly name: string;
  readonly operation: 'queries/top-snippets' | 'queries/top-pages' | 'queries/top-documents';
  /** Request fields besides collection, query and `k`. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Metadata of every document of a bench. */
export interface DocumentGroup extends Readonly<Record<string, string>> {
  readonly group: string;
}

/** Number of groups of documents; a filter on one matches a tenth of the documents. */
const groups = 10;
const snippets = 'queries/top-snippets';

export const queryCalls: readonly QueryCall[] = [
  { name: 'snippets', operation: snippets, fields: {} },
  { name: 'precise', operation: snippets, fields: { precise_responses: true } },
  { name: 'pages', operation: 'queries/top-pages', fields: { include_content: true } },
  { name: 'documents', operation: 'queries/top-documents', fields: {} },
  { name: 'reranked', operation: snippets, fields: { reranker: 'zerank-2' } },
  { name: 'filtered', operation: snippets, fields: { filter: { group: { $eq: '0' } } } },
  // The two sides of `snippets` alone: their cost is not visible within one query.
  { name: 'lexical', operation: snippets, fields: { weights: { lexical: 1, vector: 0 } } },
  { name: 'vector', operation: snippets, fields: { weights: { lexical: 0, vector: 1 } } },
];

/** The call of cases that measure one. */
export const snippetsCall = queryCalls[0]!;

/** Returns the metadata of document `index` of a corpus. */
export function documentGroup(index: number): DocumentGroup {
  return { group: String(index % groups) };
}

export function queryBody(
  { fields }: QueryCall,
  query: { readonly collection: string; readonly question: string; readonly results: number },
): object {
  return { collection_name: query.collection, query: query.question, k: query.results, ...fields };
}

/** Flag with names of calls; null if it is not given. */
export const callsFlag: FlagSpec<readonly QueryCall[] | null> = {
  placeholder: 'list',
  defaultText: null,
  meaning: `calls to measure in a closed loop, for the case "server": ${queryCalls.map(({ name }) => name).join(', ')}`,
  read(text, flag) {
    if (text === null) return null;
    const names = text.split(',');
    const calls = queryCalls.filter(({ name }) => names.includes(name));
    if (calls.length === names.length) return calls;
    const known = queryCalls.map(({ name }) => name).join(', ');
    throw new BenchUsageError(`${flag} is ${text}; expected distinct values of ${known}.`);
  },
};
