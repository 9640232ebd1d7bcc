/** Query and settings of a search, and their form in the URL. */

export type ResultKind = 'snippets' | 'pages' | 'documents';

/** Settings that two searches of one query can be compared by. */
export interface ComparedSettings {
  /** Empty for the server's default. */
  readonly reranker: string;
  readonly latency: 'low' | 'high';
  readonly isPrecise: boolean;
}

/** One level of the order of the results by metadata. */
export interface SortChoice {
  readonly field: string;
  readonly isDescending: boolean;
}

/** Options that most queries do not need. An empty field of metadata means that the option is not used. */
export interface SearchOptions {
  readonly sort: readonly SortChoice[];
  readonly boostField: string;
  /** A number with a unit: `30d`. */
  readonly halfLife: string;
  /** 0 to 1. */
  readonly boostWeight: number;
  /** Names of metadata fields, separated by commas, or the JSON of the API. */
  readonly facets: string;
  readonly groupField: string;
  /** Results per group. */
  readonly groupSize: number;
  /** 0 to 1. */
  readonly diversity: number;
  readonly hasHighlights: boolean;
  readonly similarTo: SimilarSubject | null;
}

/** Document whose similar content is searched, or the snippet of it at a position in code points. */
export interface SimilarSubject {
  readonly path: string;
  readonly start: number | null;
}

export interface SearchQuery extends ComparedSettings, SearchOptions {
  readonly kind: ResultKind;
  readonly query: string;
  readonly k: number;
  readonly filter: string;
  /** Settings of a second search that is shown beside the first; null without one. */
  readonly compared: ComparedSettings | null;
}

export const defaultOptions: SearchOptions = {
  sort: [],
  boostField: '',
  halfLife: '30d',
  boostWeight: 1,
  facets: '',
  groupField: '',
  groupSize: 3,
  diversity: 0,
  hasHighlights: false,
  similarTo: null,
};

export const defaultQuery: SearchQuery = {
  ...defaultOptions,
  kind: 'snippets',
  query: '',
  k: 10,
  filter: '',
  reranker: '',
  latency: 'low',
  isPrecise: false,
  compared: null,
};

/** Levels of an order, and results of a group. */
export const sortLevelsMax = 4;
export const groupSizeMax = 10;

/** Number of options of the panel that are used. */
export function countOptions(options: SearchOptions): number {
  const { sort, boostField, facets, groupField, diversity, hasHighlights } = options;
  const isSorted = sort.some(({ field }) => field !== '');
  return [isSorted, boostField, facets, groupField, diversity, hasHighlights].filter(Boolean).length;
}

/** Number of filters and settings that differ from the default, with the options of the panel. */
export function countSettings(query: SearchQuery): number {
  const { k, filter, reranker, latency, isPrecise, compared } = query;
  const isSet = [
    k !== defaultQuery.k,
    filter !== '',
    reranker !== '',
    latency !== defaultQuery.latency,
    isPrecise,
    compared !== null,
  ];
  return isSet.filter(Boolean).length + countOptions(query);
}

/** Whether there is something to search for. */
export function hasSubject({ query, similarTo }: Pick<SearchQuery, 'query' | 'similarTo'>): boolean {
  return query.trim() !== '' || similarTo !== null;
}

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
  setOptions(parameters, settings);
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

function setOptions(parameters: URLSearchParams, options: SearchOptions): void {
  const { sort, boostField, halfLife, boostWeight, facets, groupField, groupSize, similarTo } = options;
  // An ascending level has a sign only if its name starts with one.
  for (const { field, isDescending } of sort.filter((level) => level.field !== ''))
    parameters.append('sort', (isDescending ? '-' : /^[+-]/.test(field) ? '+' : '') + field);
  if (boostField !== '') {
    parameters.set('boost', boostField);
    if (halfLife !== defaultOptions.halfLife) parameters.set('half-life', halfLife);
    if (boostWeight !== defaultOptions.boostWeight) parameters.set('boost-weight', String(boostWeight));
  }
  if (facets !== '') parameters.set('facets', facets);
  if (groupField !== '') parameters.set('group', groupField);
  if (groupField !== '' && groupSize !== defaultOptions.groupSize)
    parameters.set('group-size', String(groupSize));
  if (options.diversity !== 0) parameters.set('diversity', String(options.diversity));
  if (options.hasHighlights) parameters.set('highlights', 'true');
  if (similarTo === null) return;
  parameters.set('similar', similarTo.path);
  if (similarTo.start !== null) parameters.set('similar-start', String(similarTo.start));
}

function getOptions(parameters: URLSearchParams): SearchOptions {
  const path = parameters.get('similar') ?? '';
  const start = parameters.get('similar-start') ?? '';
  return {
    sort: parameters
      .getAll('sort')
      .slice(0, sortLevelsMax)
      .map((text) => ({ field: text.replace(/^[+-]/, ''), isDescending: text.startsWith('-') }))
      .filter(({ field }) => field !== ''),
    boostField: parameters.get('boost') ?? '',
    halfLife: parameters.get('half-life') ?? defaultOptions.halfLife,
    boostWeight: readShare(parameters.get('boost-weight'), defaultOptions.boostWeight),
    facets: parameters.get('facets') ?? '',
    groupField: parameters.get('group') ?? '',
    groupSize: clampGroupSize(Number(parameters.get('group-size') ?? defaultOptions.groupSize)),
    diversity: readShare(parameters.get('diversity'), 0),
    hasHighlights: parameters.get('highlights') === 'true',
    similarTo: path === '' ? null : { path, start: /^\d{1,9}$/.test(start) ? Number(start) : null },
  };
}

/** Returns a number from 0 to 1, else the default. */
function readShare(text: string | null, fallback: number): number {
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
  return value >= 0 && value <= 1 ? value : fallback;
}

export function clampGroupSize(size: number): number {
  return size >= 1 ? Math.min(groupSizeMax, Math.trunc(size)) : defaultOptions.groupSize;
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
    ...getOptions(parameters),
    compared: parameters.get('compare') === 'true' ? getSettings(parameters, comparedPrefix) : null,
  };
}
