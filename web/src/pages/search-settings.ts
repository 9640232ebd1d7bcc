/** Query and settings of a search, and their form in the URL. */

export type ResultKind = 'snippets' | 'pages' | 'documents';

/** Settings that two searches of one query can be compared by. */
export interface ComparedSettings {
  /** Empty for the server's default. */
  readonly reranker: string;
  readonly latency: 'low' | 'high';
  readonly isPrecise: boolean;
}

export interface SearchQuery extends ComparedSettings {
  readonly kind: ResultKind;
  readonly query: string;
  readonly k: number;
  readonly filter: string;
  /** Settings of a second search that is shown beside the first; null without one. */
  readonly compared: ComparedSettings | null;
}

export const defaultQuery: SearchQuery = {
  kind: 'snippets',
  query: '',
  k: 10,
  filter: '',
  reranker: '',
  latency: 'low',
  isPrecise: false,
  compared: null,
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
export function toFragment({ kind, query, k, filter, compared, ...settings }: SearchQuery): string {
  const parameters = new URLSearchParams();
  if (query !== '') parameters.set('q', query);
  if (kind !== defaultQuery.kind) parameters.set('type', kind);
  if (k !== defaultQuery.k) parameters.set('k', String(k));
  if (filter !== '') parameters.set('filter', filter);
  setSettings(parameters, settings, '');
  if (compared !== null) {
    parameters.set('compare', 'true');
    setSettings(parameters, compared, comparedPrefix);
  }
  const text = parameters.toString();
  return text === '' ? '' : `#${text}`;
}

/** Prefix of the parameters of the second search. */
const comparedPrefix = 'compare-';

function setSettings(
  parameters: URLSearchParams,
  { reranker, latency, isPrecise }: ComparedSettings,
  prefix: string,
): void {
  if (reranker !== '') parameters.set(`${prefix}reranker`, reranker);
  if (latency !== defaultQuery.latency) parameters.set(`${prefix}latency`, latency);
  if (isPrecise) parameters.set(`${prefix}precise`, 'true');
}

function getSettings(parameters: URLSearchParams, prefix: string): ComparedSettings {
  return {
    reranker: parameters.get(`${prefix}reranker`) ?? '',
    latency: parameters.get(`${prefix}latency`) === 'high' ? 'high' : 'low',
    isPrecise: parameters.get(`${prefix}precise`) === 'true',
  };
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
    ...getSettings(parameters, ''),
    compared: parameters.get('compare') === 'true' ? getSettings(parameters, comparedPrefix) : null,
  };
}
