import { readFileSize, readJsonLines } from '../import-lines.ts';
import type { ImportItem, ImportSource, SkippedItem } from './import-source.ts';
import { hashPages, type ImportRow, toMetadata } from './row-fields.ts';

/** A document whose pages are not complete yet. */
interface SavedDocument {
  metadata: unknown;
  /** Null: it has no text. Undefined: its entry was not read yet. */
  pageCount: number | null | undefined;
  status: string;
  readonly pages: Map<number, string>;
}

/**
 * Replies of `get-document-info-list`, `get-document-info` and `get-page-info` of a server with the same API, one JSON
 * object per line, in any order: whole replies, or the documents and pages in them. `sourceCollection`: only documents of
 * this collection; null for all.
 */
export async function openSavedReplies(file: string, sourceCollection: string | null): Promise<ImportSource> {
  await readFileSize(file);
  return {
    total: null,
    isSorted: false,
    settings: null,
    async *items(skip) {
      const waiting = new Map<string, SavedDocument>();
      for await (const { number, value } of readJsonLines(file)) {
        const entries = entriesOf(value).filter(
          ({ collection_name: name }) => sourceCollection === null || name === sourceCollection,
        );
        if (entries.length === 0 && entriesOf(value).length === 0)
          skip({ origin: `line ${number}`, path: null, reason: 'it is neither a document nor a page' });
        for (const entry of entries) {
          const path = String(entry.path);
          const item = collect(waiting, path, entry, skip);
          if (item !== null) yield item;
        }
      }
      for (const [path, { pages, pageCount }] of waiting) {
        const reason =
          pageCount === undefined
            ? 'the file has pages of it, but not its entry in get-document-info-list'
            : `the file has ${pages.size} of its ${pageCount} pages`;
        skip({ origin: 'the file', path, reason });
      }
    },
  };
}

/** Returns the documents and pages of a line. */
function entriesOf({ documents, document, page, ...value }: ImportRow): readonly ImportRow[] {
  const entries = Array.isArray(documents) ? documents : [document ?? page ?? value];
  return (entries as ImportRow[]).filter((entry) => typeof entry?.path === 'string');
}

/** Adds a document or page to what is known; returns the document when it is complete. */
function collect(
  waiting: Map<string, SavedDocument>,
  path: string,
  entry: ImportRow,
  skip: (item: SkippedItem) => void,
): ImportItem | null {
  const saved = waiting.get(path) ?? { metadata: {}, pageCount: undefined, status: '', pages: new Map() };
  waiting.set(path, saved);
  if (typeof entry.page_index === 'number') saved.pages.set(entry.page_index, String(entry.content ?? ''));
  else {
    saved.metadata = entry.metadata;
    saved.pageCount = typeof entry.num_pages === 'number' ? entry.num_pages : null;
    saved.status = String(entry.index_status ?? 'unknown');
  }
  if (saved.pageCount === null) {
    waiting.delete(path);
    skip({ origin: 'the file', path, reason: `it has no text: it is ${saved.status}` });
    return null;
  }
  if (saved.pageCount === undefined || saved.pages.size < saved.pageCount) return null;
  waiting.delete(path);
  return toItem(path, saved);
}

function toItem(path: string, { metadata, pages }: SavedDocument): ImportItem {
  const texts = [...pages].sort(([a], [b]) => a - b).map(([, text]) => text);
  const content =
    texts.length === 1 ? { type: 'text', text: texts[0]! } : { type: 'text-pages', pages: texts };
  const document = {
    path,
    metadata: toMetadata((metadata ?? {}) as ImportRow, { keepsTypes: true }),
    content,
  };
  const units = JSON.stringify(document).length;
  return { origin: 'the file', path, document, sha256: hashPages(texts), file: null, units };
}
