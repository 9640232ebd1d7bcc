import { type Passage, toPassageFragment } from './pages/passage.ts';

/** URLs of pages. Names of collections and documents may contain any character, so they go into the query. */

function pageUrl(page: string, query: Readonly<Record<string, string | undefined>>): string {
  const parameters = Object.entries(query).filter((each): each is [string, string] => each[1] !== undefined);
  const search = new URLSearchParams(parameters).toString();
  return search === '' ? `/app/${page}` : `/app/${page}?${search}`;
}

/** `section`: absent for the first one. */
export function collectionUrl(name: string, section?: string): string {
  return pageUrl('collection', { name, section });
}

export function documentsUrl(collection: string): string {
  return pageUrl('documents', { collection });
}

/** Documents of the last used collection in some states. */
export function shownDocumentsUrl(show: 'indexed' | 'pending' | 'failed'): string {
  return pageUrl('documents', { show });
}

/** Documents that could not be parsed or indexed. */
export function failedDocumentsUrl(collection: string): string {
  return pageUrl('documents', { collection, show: 'failed' });
}

/** `page`: from 0. `passage`: marked on the page. */
export function documentUrl(collection: string, path: string, page?: number, passage?: Passage): string {
  const url = pageUrl('document', {
    collection,
    path,
    page: page === undefined ? undefined : String(page + 1),
  });
  return passage === undefined ? url : url + toPassageFragment(passage);
}

export function uploadUrl(collection: string): string {
  return pageUrl('upload', { collection });
}

/** Search page that runs a query in the last used collection. */
export function querySearchUrl(query: string): string {
  return `${pageUrl('search', {})}#${new URLSearchParams({ q: query })}`;
}

export function administrationUrl(section?: string): string {
  return pageUrl('admin', { section });
}

export function searchUrl(collection: string): string {
  return pageUrl('search', { collection });
}

/** Search page that lists the documents that a query finds. */
export function documentSearchUrl(collection: string, query: string): string {
  return `${searchUrl(collection)}#${new URLSearchParams({ q: query, type: 'documents' })}`;
}

/** Search page that lists the documents most similar to one. */
export function similarDocumentsUrl(collection: string, path: string): string {
  return `${searchUrl(collection)}#${new URLSearchParams({ type: 'documents', similar: path })}`;
}

/** Page that sends requests to an operation of the API. */
export function consoleUrl(operation: string): string {
  return pageUrl('console', { operation });
}

export function sourceUrl(name: string): string {
  return pageUrl('source', { name });
}

/** Page of a new source that shows what its first run would change, and starts it with these options. */
export function newSourceUrl(
  name: string,
  { schedule, isWatched }: { readonly schedule: string; readonly isWatched: boolean },
): string {
  return pageUrl('source', { name, schedule, watch: String(isWatched) });
}

export function webhookUrl(id: string): string {
  return pageUrl('webhook', { id });
}
