import { type Pdfium, readUtf16 } from './pdfium-library.ts';

/** Maximum number of outline entries and outline levels that are read. */
const outlineEntriesMax = 5_000;
const outlineLevelsMax = 6;
const titleBytesMax = 8_192;

/** An entry of the outline. */
export interface OutlineEntry {
  readonly title: string;
  /** Zero-based; -1 when the entry refers to no page. */
  readonly page: number;
  /** 1 for the outermost level. */
  readonly level: number;
}

/** Returns the outline, outer entries before inner ones; empty when there is none. */
export function readOutline(pdfium: Pdfium, document: number): OutlineEntry[] {
  const entries: OutlineEntry[] = [];
  addEntries(pdfium, document, { parent: 0, level: 1, entries });
  return entries;
}

function addEntries(
  pdfium: Pdfium,
  document: number,
  { parent, level, entries }: { parent: number; level: number; entries: OutlineEntry[] },
): void {
  const api = pdfium.wasmExports;
  let entry = api.FPDFBookmark_GetFirstChild(document, parent);
  for (; entry !== 0 && entries.length < outlineEntriesMax; ) {
    entries.push({ title: readTitle(pdfium, entry), page: findPage(pdfium, document, entry), level });
    if (level < outlineLevelsMax) addEntries(pdfium, document, { parent: entry, level: level + 1, entries });
    entry = api.FPDFBookmark_GetNextSibling(document, entry);
  }
}

function readTitle(pdfium: Pdfium, entry: number): string {
  const api = pdfium.wasmExports;
  const length = api.FPDFBookmark_GetTitle(entry, 0, 0);
  if (length <= 2 || length > titleBytesMax) return '';
  return readUtf16(pdfium, length, (buffer) => api.FPDFBookmark_GetTitle(entry, buffer, length));
}

function findPage({ wasmExports: api }: Pdfium, document: number, entry: number): number {
  const directDestination = api.FPDFBookmark_GetDest(document, entry);
  const action = directDestination === 0 ? api.FPDFBookmark_GetAction(entry) : 0;
  const destination = action === 0 ? directDestination : api.FPDFAction_GetDest(document, action);
  return destination === 0 ? -1 : api.FPDFDest_GetDestPageIndex(document, destination);
}
