import { constants, inflateSync } from 'node:zlib';

/**
 * Trailers for PDFs that lost the structure where engines start reading. Engines rebuild the object table of
 * such files by scanning for objects; they miss the page tree root and objects compressed in streams. Bytes
 * are only appended, never changed.
 */

/**
 * Maximum number of objects scanned, bytes searched per object, and total inflated bytes of compressed
 * objects.
 */
const objectsMax = 500_000;
const objectHeadBytes = 8_192;
const inflatedBytesMax = 64_000_000;

/** Yields candidate trailers to append to the file, the most faithful first. */
export function* buildTrailers(bytes: Uint8Array, pagesMax: number): Generator<Uint8Array, void> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const topLevel = scanTopLevelObjects(file);
  const catalog = topLevel.catalog;
  if (catalog !== null) yield buildTrailer('', catalog);
  const compressed = scanCompressedObjects(file, topLevel);
  const added = [...compressed.bodies].map(([id, body]) => `${id} obj\n${body}\nendobj\n`).join('');
  const compressedCatalog = compressed.catalog ?? catalog;
  if (added !== '' && compressedCatalog !== null) yield buildTrailer(added, compressedCatalog);
  const pages = [...new Set([...topLevel.pages, ...compressed.pages])];
  if (pages.length === 0 || pages.length > pagesMax) return;
  const free = 1 + Math.max(topLevel.numberMax, compressed.numberMax);
  const kids = pages.map((id) => `${id} R`).join(' ');
  const tree = `${free} 0 obj\n<</Type/Pages/Count ${pages.length}/Kids[${kids}]>>\nendobj\n`;
  const root = `${free + 1} 0 obj\n<</Type/Catalog/Pages ${free} 0 R>>\nendobj\n`;
  yield buildTrailer(added + tree + root, `${free + 1} 0`);
}

/** Starts with `endstream`, because the file may have been cut inside a stream. */
function buildTrailer(objects: string, catalog: string): Uint8Array {
  const end = `\nendstream\nendobj\n${objects}trailer\n<</Root ${catalog} R>>\nstartxref\n0\n%%EOF\n`;
  return Buffer.from(end, 'latin1');
}

/** Objects found in a file. Ids are number and generation, for example `12 0`. */
interface FoundObjects {
  /** Id of the newest catalog. */
  catalog: string | null;
  /** In file order. */
  readonly pages: string[];
  numberMax: number;
}

interface TopLevelObjects extends FoundObjects {
  readonly ids: Set<string>;
  /** Object streams. */
  readonly streams: { readonly first: number; readonly headEnd: number }[];
}

function scanTopLevelObjects(file: Buffer): TopLevelObjects {
  const found: TopLevelObjects = { catalog: null, pages: [], numberMax: 0, ids: new Set(), streams: [] };
  for (let at = file.indexOf(' obj'); at !== -1; at = file.indexOf(' obj', at + 4)) {
    const id = /(?:^|\D)(\d{1,7} \d{1,5})$/.exec(file.toString('latin1', Math.max(0, at - 14), at))?.[1];
    if (id === undefined) continue;
    if (found.ids.size >= objectsMax) break;
    const head = /^[\s\S]*?(?=endobj|stream|$)/.exec(
      file.toString('latin1', at + 4, at + 4 + objectHeadBytes),
    )![0];
    found.ids.add(id);
    recordObject(found, id, head);
    if (!isType(head, 'ObjStm')) continue;
    const first = Number(/\/First\s+(\d{1,9})/.exec(head)?.[1] ?? 0);
    found.streams.push({ first, headEnd: at + 4 + head.length });
  }
  return found;
}

function recordObject(found: FoundObjects, id: string, body: string): void {
  found.numberMax = Math.max(found.numberMax, Number.parseInt(id, 10));
  if (isType(body, 'Catalog')) found.catalog = id;
  else if (isType(body, 'Page')) found.pages.push(id);
}

function isType(body: string, type: 'Catalog' | 'Page' | 'ObjStm'): boolean {
  return new RegExp(`/Type\\s*/${type}(?![A-Za-z])`).test(body);
}

interface CompressedObjects extends FoundObjects {
  readonly bodies: Map<string, string>;
}

/** Returns the objects that exist only in object streams; of duplicates, the last. */
function scanCompressedObjects(file: Buffer, { ids, streams }: TopLevelObjects): CompressedObjects {
  const bodies = new Map<string, string>();
  let bytesLeft = inflatedBytesMax;
  for (const { first, headEnd } of streams) {
    const content = bytesLeft <= 0 ? '' : inflateStream(file, headEnd, bytesLeft);
    bytesLeft -= content.length;
    const offsets = [...content.slice(0, first).matchAll(/(\d{1,7})\s+(\d{1,9})/g)];
    for (const [i, [, number, offset]] of offsets.entries()) {
      const next = offsets[i + 1]?.[2];
      const end = next === undefined ? undefined : first + Number(next);
      const body = content.slice(first + Number(offset), end).trim();
      const id = `${number} 0`;
      if (body !== '' && !ids.has(id) && bodies.size < objectsMax) bodies.set(id, body);
    }
  }
  const found: CompressedObjects = { catalog: null, pages: [], numberMax: 0, bodies };
  for (const [id, body] of bodies) recordObject(found, id, body);
  return found;
}

/** Inflates as much of a deflate stream as possible; empty when nothing is usable. */
function inflateStream(file: Buffer, headEnd: number, bytesMax: number): string {
  const mark = /^stream\r?\n/.exec(file.toString('latin1', headEnd, headEnd + 8))?.[0];
  if (mark === undefined) return '';
  const end = file.indexOf('endstream', headEnd);
  const source = file.subarray(headEnd + mark.length, end === -1 ? undefined : end);
  try {
    const bounds = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: bytesMax };
    return inflateSync(source, bounds).toString('latin1');
  } catch (error) {
    // The stream is damaged, encrypted, too large, or compressed with another method.
    if (/^(?:Z_|ERR_BUFFER_TOO_LARGE)/.test(String((error as { code?: unknown }).code))) return '';
    throw error;
  }
}
