import { organizationId } from '../server/session.ts';
import type { DocumentList, DocumentListQuery } from './document-list.ts';

/** Keeps the last shown list, so that going back from a document restores it unchanged. */

interface SavedList {
  /**
   * Also stored in the browser's history entry of the list, which distinguishes going back from a new visit.
   */
  readonly id: number;
  readonly organizationId: string;
  readonly options: DocumentListQuery;
  readonly list: DocumentList;
  scrollY: number;
}

let lastId = 0;
let saved: SavedList | null = null;

/** Returns the list of this history entry if it is the saved one, with any prefix. */
export function findSavedList({
  collection,
  onlyFailed,
}: Omit<DocumentListQuery, 'prefix'>): SavedList | null {
  const state = window.history.state as { readonly list?: number } | null;
  if (saved === null || state?.list !== saved.id || saved.organizationId !== organizationId()) return null;
  const { options } = saved;
  return options.collection === collection && options.onlyFailed === onlyFailed ? saved : null;
}

/** Associates the list with this history entry. */
export function saveList(list: DocumentList, options: DocumentListQuery): void {
  if (saved?.list !== list) {
    lastId += 1;
    saved = { id: lastId, organizationId: organizationId(), options, list, scrollY: 0 };
  }
  window.history.replaceState({ list: saved.id }, '');
}

/** Saves the scroll position of the list. */
export function saveScroll(list: DocumentList): void {
  if (saved?.list === list) saved.scrollY = window.scrollY;
}
