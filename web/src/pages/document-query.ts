import type { DocumentSortField } from '../../../src/core/document-sort-fields.ts';
import { extensionsOf, type FileTypeName, fileTypes } from '../../../src/core/file-types.ts';
import type { GetDocumentInfoListRequest } from '../../../src/schemas/document-list.ts';
import { texts } from '../texts/en/documents.ts';

/** Filters and order of the list of documents, and their form in the URL. */

/** Named groups of states. */
export const stateGroups = {
  all: null,
  indexed: ['indexed'],
  pending: ['not_parsed', 'parsing', 'not_indexed', 'indexing'],
  failed: ['parsing_failed', 'indexing_failed'],
} as const;
export type StateGroup = keyof typeof stateGroups;

/** Days before now, or `range` for the dates `from` and `to`. */
export const addedRanges = {
  '1': texts.last24Hours,
  '7': texts.last7Days,
  '30': texts.last30Days,
  '365': texts.last12Months,
  range: texts.dates,
} as const;
export type AddedRange = keyof typeof addedRanges;

export interface DocumentQuery {
  readonly collection: string;
  /** Part of the path. */
  readonly text: string;
  readonly show: StateGroup;
  readonly type: FileTypeName | '';
  readonly added: AddedRange | '';
  /** First and last day in the time zone of the browser, as YYYY-MM-DD; empty if open. */
  readonly from: string;
  readonly to: string;
  readonly sort: DocumentSortField;
  readonly isDescending: boolean;
}

const sortFields: readonly DocumentSortField[] = ['path', 'created_at', 'size', 'num_pages', 'index_status'];

function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined {
  return values.find((value) => value === text);
}

function keysOf<Key extends string>(values: Readonly<Record<Key, unknown>>): readonly Key[] {
  return Object.keys(values) as Key[];
}

/** Reads the parameters of the URL; unknown values are ignored. */
export function readDocumentQuery(
  collection: string,
  parameters: Readonly<Record<string, string>>,
): DocumentQuery {
  const isDate = (text = '') => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? text : '');
  return {
    collection,
    text: parameters.q ?? '',
    show: oneOf(keysOf(stateGroups), parameters.show) ?? 'all',
    type: oneOf(keysOf(fileTypes), parameters.type) ?? '',
    added: oneOf(keysOf(addedRanges), parameters.added) ?? '',
    from: isDate(parameters.from),
    to: isDate(parameters.to),
    sort: oneOf(sortFields, parameters.sort) ?? 'path',
    isDescending: parameters.order === 'desc',
  };
}

export function toDocumentsUrl({ collection, ...query }: DocumentQuery): string {
  const { text, show, type, added, from, to, sort, isDescending } = query;
  const isRange = added === 'range';
  const parameters = {
    collection,
    q: text,
    show: show === 'all' ? '' : show,
    type,
    added,
    from: isRange ? from : '',
    to: isRange ? to : '',
    sort: sort === 'path' ? '' : sort,
    order: isDescending ? 'desc' : '',
  };
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  return `/app/documents?${new URLSearchParams(given)}`;
}

/** Whether documents are filtered by something else than their state. */
export function hasFilters({ text, type, added, from, to }: DocumentQuery): boolean {
  return text !== '' || type !== '' || (added === 'range' ? from !== '' || to !== '' : added !== '');
}

type ListFilters = Omit<GetDocumentInfoListRequest, 'limit' | 'cursor' | 'path_gt'>;

/** `now`: milliseconds since the epoch. */
export function toListFilters(query: DocumentQuery, now: number): ListFilters {
  const { collection, text, show, type } = query;
  const statuses = stateGroups[show];
  return {
    collection_name: collection,
    ...(text === '' ? {} : { path_contains: text }),
    ...(show === 'failed' ? { only_failed: true } : {}),
    ...(statuses === null || show === 'failed' ? {} : { index_statuses: [...statuses] }),
    ...(type === '' ? {} : { extensions: extensionsOf(type) }),
    ...toTimeRange(query, now),
  };
}

const dayMs = 86_400_000;

function toTimeRange({ added, from, to }: DocumentQuery, now: number) {
  if (added === '') return {};
  if (added !== 'range') return { created_at_gte: new Date(now - Number(added) * dayMs).toISOString() };
  // Without a zone, `Date` reads a date with a time as local time. The last day is included.
  const start = new Date(`${from}T00:00`);
  const end = new Date(`${to}T00:00`);
  end.setDate(end.getDate() + 1);
  return {
    ...(from === '' || Number.isNaN(start.getTime()) ? {} : { created_at_gte: start.toISOString() }),
    ...(to === '' || Number.isNaN(end.getTime()) ? {} : { created_at_lt: end.toISOString() }),
  };
}
