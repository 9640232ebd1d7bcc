/** Query and settings of a search, and their form in the URL. */

export type ResultKind = 'snippets' | 'pages' | 'documents';

export interface SearchQuery {
  readonly kind: ResultKind;
  readonly query: string;
  readonly k: number;
  readonly filter: string;
  /** Empty for the server's default. */
  readonly reranker: string;
  readonly latency: 'low' | 'high';
  readonly isPrecise: boolean;
}

export const defaultQuery: SearchQuery = {
  kind: 'snippets',
  query: '',
  k: 10,
  filter: '',
  reranker: '',
  latency: 'low',
  isPrecise: false,
};

export const resultsMax: Readonly<Record<ResultKind, number>> = {
  snippets: 128,
  pages: 1_024,
  documents: 2_048,
};

/**
 * Returns the fragment of the URL, with `#`; empty for the default. A fragment is not sent to the server, so that
 * queries do not appear in logs and may be long.
 */
export function toFragment({ kind, query, k, filter, reranker, latency, isPrecise }: SearchQuery): string {
  const parameters = new URLSearchParams();
  if (query !== '') parameters.set('q', query);
  if (kind !== defaultQuery.kind) parameters.set('type', kind);
  if (k !== defaultQuery.k) parameters.set('k', String(k));
  if (filter !== '') parameters.set('filter', filter);
  if (reranker !== '') parameters.set('reranker', reranker);
  if (latency !== defaultQuery.latency) parameters.set('latency', latency);
  if (isPrecise) parameters.set('precise', 'true');
  const text = parameters.toString();
  return text === '' ? '' : `#${text}`;
}

/** Reads a fragment; invalid values are replaced by the default. */
export function fromFragment(fragment: string): SearchQuery {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const type = parameters.get('type');
  const kind = type === 'pages' || type === 'documents' ? type : defaultQuery.kind;
  const k = Math.trunc(Number(parameters.get('k') ?? defaultQuery.k));
  return {
    kind,
    query: parameters.get('q') ?? '',
    k: k >= 1 ? Math.min(k, resultsMax[kind]) : defaultQuery.k,
    filter: parameters.get('filter') ?? '',
    reranker: parameters.get('reranker') ?? '',
    latency: parameters.get('latency') === 'high' ? 'high' : 'low',
    isPrecise: parameters.get('precise') === 'true',
  };
}
