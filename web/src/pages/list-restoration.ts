import { organizationId } from '../server/session.ts';
import type { DocumentList, DocumentListQuery } from './document-list.ts';

/** The list that was shown last: who looks at a document and goes back finds it as they left it. */

interface SavedList {
  /** Also in the entry of the browser's history that shows it, which is how going back is told from going there anew. */
  readonly id: number;
  readonly organizationId: string;
  readonly options: DocumentListQuery;
  readonly list: DocumentList;
  scrollY: number;
}

let lastId = 0;
let saved: SavedList | null = null;

/** The list of this entry of the history, if it is the one that was left; whatever its prefix is. */
export function findSavedList({
  collection,
  onlyFailed,
}: Omit<DocumentListQuery, 'prefix'>): SavedList | null {
  const state = window.history.state as { readonly list?: number } | null;
  if (saved === null || state?.list !== saved.id || saved.organizationId !== organizationId()) return null;
  const { options } = saved;
  return options.collection === collection && options.onlyFailed === onlyFailed ? saved : null;
}

/** From now on this is the list of this entry. */
export function saveList(list: DocumentList, options: DocumentListQuery): void {
  if (saved?.list !== list) {
    lastId += 1;
    saved = { id: lastId, organizationId: organizationId(), options, list, scrollY: 0 };
  }
  window.history.replaceState({ list: saved.id }, '');
}

/** Notes how far down it is looked at. */
export function saveScroll(list: DocumentList): void {
  if (saved?.list === list) saved.scrollY = window.scrollY;
}
