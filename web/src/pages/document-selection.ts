import type { DocumentRow } from '../server/retrieval.ts';
import type { DocumentList } from './document-list.ts';

/**
 * Selected documents of a list: some rows, or all documents that match its query except some, including those
 * that are not loaded.
 */
export type DocumentSelection =
  | { readonly kind: 'some'; readonly rows: ReadonlyMap<string, DocumentRow> }
  | { readonly kind: 'all'; readonly except: ReadonlySet<string> };

export const emptySelection: DocumentSelection = { kind: 'some', rows: new Map() };
export const completeSelection: DocumentSelection = { kind: 'all', except: new Set() };

export function isSelected(selection: DocumentSelection, path: string): boolean {
  return selection.kind === 'all' ? !selection.except.has(path) : selection.rows.has(path);
}

/** `total`: number of documents that match the query of the list. */
export function countSelected(selection: DocumentSelection, total: number): number {
  return selection.kind === 'all' ? Math.max(0, total - selection.except.size) : selection.rows.size;
}

export function withRows(
  selection: DocumentSelection,
  rows: readonly DocumentRow[],
  isAdded: boolean,
): DocumentSelection {
  if (selection.kind === 'some') {
    const changed = new Map(selection.rows);
    for (const row of rows)
      if (isAdded) changed.set(row.path, row);
      else changed.delete(row.path);
    return { kind: 'some', rows: changed };
  }
  const except = new Set(selection.except);
  for (const { path } of rows)
    if (isAdded) except.delete(path);
    else except.add(path);
  return { kind: 'all', except };
}

/** Iterates over the selected documents, page by page. */
export async function* selectedPages(
  list: DocumentList,
  selection: DocumentSelection,
): AsyncGenerator<readonly DocumentRow[], void, void> {
  if (selection.kind === 'some') yield [...selection.rows.values()];
  else for await (const page of list.pages()) yield page.filter(({ path }) => !selection.except.has(path));
}
