import { organizationId } from '../server/session.ts';
import type { DocumentList, ListOptions } from './document-list.ts';

/** The list that was shown last: who looks at a document and goes back finds it as they left it. */

interface Left {
  /** Also in the entry of the browser's history that shows it, which is how going back is told from going there anew. */
  readonly id: number;
  readonly organizationId: string;
  readonly options: ListOptions;
  readonly list: DocumentList;
  scrollY: number;
}

let last = 0;
let left: Left | null = null;

/** The list of this entry of the history, if it is the one that was left; whatever its prefix is. */
export function leftHere({ collection, onlyFailed }: Omit<ListOptions, 'prefix'>): Left | null {
  const state = window.history.state as { readonly list?: number } | null;
  if (left === null || state?.list !== left.id || left.organizationId !== organizationId()) return null;
  const { options } = left;
  return options.collection === collection && options.onlyFailed === onlyFailed ? left : null;
}

/** From now on this is the list of this entry. */
export function keepHere(list: DocumentList, options: ListOptions): void {
  if (left?.list !== list) {
    last += 1;
    left = { id: last, organizationId: organizationId(), options, list, scrollY: 0 };
  }
  window.history.replaceState({ list: left.id }, '');
}

/** Notes how far down it is looked at. */
export function noteScroll(list: DocumentList): void {
  if (left?.list === list) left.scrollY = window.scrollY;
}
