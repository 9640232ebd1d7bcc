import { constants, inflateSync } from 'node:zlib';

/**
 * New ends for PDFs that lost what tells an engine where to begin. Engines rebuild the table of objects of such a file by
 * themselves, by looking for objects; what they miss is what names the pages, and what lies packed in streams. Nothing is
 * changed, only appended.
 */

/** Objects of the file that are looked at, bytes of one that are searched, and bytes that packed ones may unpack to. */
const objectsMax = 500_000;
const headBytes = 8_192;
const unpackedBytesMax = 64_000_000;

/** What to append to the file, one new end after the other, the most faithful first. */
export function* newEnds(bytes: Uint8Array, pagesMax: number): Generator<Uint8Array, void> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const open = openObjects(file);
  const catalogue = open.catalogue;
  if (catalogue !== null) yield newEnd('', catalogue);
  const packed = packedObjects(file, open);
  const added = [...packed.bodies].map(([id, body]) => `${id} obj\n${body}\nendobj\n`).join('');
  const packedCatalogue = packed.catalogue ?? catalogue;
  if (added !== '' && packedCatalogue !== null) yield newEnd(added, packedCatalogue);
  const pages = [...new Set([...open.pages, ...packed.pages])];
  if (pages.length === 0 || pages.length > pagesMax) return;
  const free = 1 + Math.max(open.numberMax, packed.numberMax);
  const kids = pages.map((id) => `${id} R`).join(' ');
  const tree = `${free} 0 obj\n<</Type/Pages/Count ${pages.length}/Kids[${kids}]>>\nendobj\n`;
  const root = `${free + 1} 0 obj\n<</Type/Catalog/Pages ${free} 0 R>>\nendobj\n`;
  yield newEnd(added + tree + root, `${free + 1} 0`);
}

/** The file may have been cut inside a stream. */
function newEnd(objects: string, catalogue: string): Uint8Array {
  const end = `\nendstream\nendobj\n${objects}trailer\n<</Root ${catalogue} R>>\nstartxref\n0\n%%EOF\n`;
  return Buffer.from(end, 'latin1');
}

/** What was found of a file's structure. Objects are named by number and generation, for example `12 0`. */
interface Found {
  /** The newest. */
  catalogue: string | null;
  /** In the order they lie in. */
  readonly pages: string[];
  numberMax: number;
}

interface OpenObjects extends Found {
  readonly ids: Set<string>;
  /** Streams of packed objects. */
  readonly streams: { readonly first: number; readonly headEnd: number }[];
}

function openObjects(file: Buffer): OpenObjects {
  const found: OpenObjects = { catalogue: null, pages: [], numberMax: 0, ids: new Set(), streams: [] };
  for (let at = file.indexOf(' obj'); at !== -1; at = file.indexOf(' obj', at + 4)) {
    const id = /(?:^|\D)(\d{1,7} \d{1,5})$/.exec(file.toString('latin1', Math.max(0, at - 14), at))?.[1];
    if (id === undefined) continue;
    if (found.ids.size >= objectsMax) break;
    const head = /^[\s\S]*?(?=endobj|stream|$)/.exec(file.toString('latin1', at + 4, at + 4 + headBytes))![0];
    found.ids.add(id);
    note(found, id, head);
    if (!isType(head, 'ObjStm')) continue;
    const first = Number(/\/First\s+(\d{1,9})/.exec(head)?.[1] ?? 0);
    found.streams.push({ first, headEnd: at + 4 + head.length });
  }
  return found;
}

function note(found: Found, id: string, body: string): void {
  found.numberMax = Math.max(found.numberMax, Number.parseInt(id, 10));
  if (isType(body, 'Catalog')) found.catalogue = id;
  else if (isType(body, 'Page')) found.pages.push(id);
}

function isType(body: string, type: 'Catalog' | 'Page' | 'ObjStm'): boolean {
  return new RegExp(`/Type\\s*/${type}(?![A-Za-z])`).test(body);
}

interface PackedObjects extends Found {
  readonly bodies: Map<string, string>;
}

/** What lies packed in streams and nowhere in the open; of one that is packed twice, the last. */
function packedObjects(file: Buffer, { ids, streams }: OpenObjects): PackedObjects {
  const bodies = new Map<string, string>();
  let room = unpackedBytesMax;
  for (const { first, headEnd } of streams) {
    const content = room <= 0 ? '' : unpacked(file, headEnd, room);
    room -= content.length;
    const places = [...content.slice(0, first).matchAll(/(\d{1,7})\s+(\d{1,9})/g)];
    for (const [i, [, number, offset]] of places.entries()) {
      const next = places[i + 1]?.[2];
      const end = next === undefined ? undefined : first + Number(next);
      const body = content.slice(first + Number(offset), end).trim();
      const id = `${number} 0`;
      if (body !== '' && !ids.has(id) && bodies.size < objectsMax) bodies.set(id, body);
    }
  }
  const found: PackedObjects = { catalogue: null, pages: [], numberMax: 0, bodies };
  for (const [id, body] of bodies) note(found, id, body);
  return found;
}

/** As much of a deflated stream as is there; empty when nothing of it can be used. */
function unpacked(file: Buffer, headEnd: number, bytesMax: number): string {
  const mark = /^stream\r?\n/.exec(file.toString('latin1', headEnd, headEnd + 8))?.[0];
  if (mark === undefined) return '';
  const end = file.indexOf('endstream', headEnd);
  const source = file.subarray(headEnd + mark.length, end === -1 ? undefined : end);
  try {
    const bounds = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: bytesMax };
    return inflateSync(source, bounds).toString('latin1');
  } catch (error) {
    // It is damaged, encrypted, too large, or packed in another way.
    if (/^(?:Z_|ERR_BUFFER_TOO_LARGE)/.test(String((error as { code?: unknown }).code))) return '';
    throw error;
  }
}
