import { organizationId } from '../server/session.ts';
import type { DocumentList } from './document-list.ts';
import type { DocumentQuery } from './document-query.ts';

/** Keeps the last shown list, so that going back from a document restores it unchanged. */

interface SavedList {
  /**
   * Also stored in the browser's history entry of the list, which distinguishes going back from a new visit.
   */
  readonly id: number;
  readonly organizationId: string;
  readonly list: DocumentList;
  scrollY: number;
}

let lastId = 0;
let saved: SavedList | null = null;

/** Returns the list of this history entry if it is the saved one for the same query. */
export function findSavedList(query: DocumentQuery): SavedList | null {
  const state = window.history.state as { readonly list?: number } | null;
  if (saved === null || state?.list !== saved.id || saved.organizationId !== organizationId()) return null;
  return JSON.stringify(saved.list.query) === JSON.stringify(query) ? saved : null;
}

/** Associates the list with this history entry. */
export function saveList(list: DocumentList): void {
  if (saved?.list !== list) {
    lastId += 1;
    saved = { id: lastId, organizationId: organizationId(), list, scrollY: 0 };
  }
  window.history.replaceState({ list: saved.id }, '');
}

/** Saves the scroll position of the list. */
export function saveScroll(list: DocumentList): void {
  if (saved?.list === list) saved.scrollY = window.scrollY;
}
