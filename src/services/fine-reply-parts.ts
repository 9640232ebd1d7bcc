import type { FineParts } from '../search/reply-parts.ts';
import type { StoredChunk } from '../storage/chunks.ts';
import type { FineChunkData } from '../storage/version-reader.ts';

/** A stored chunk, and its JSON as a snippet from the opening brace up to the score. */
export interface ChunkJson {
  readonly chunk: StoredChunk;
  readonly json: Uint8Array;
  /** Bytes of the JSON up to the end of the path, and up to the text, without its quotation mark. */
  readonly pathEnd: number;
  readonly textStart: number;
}

/**
 * Returns the fine chunks of a chunk as the engine writes them: their texts are parts of the JSON of the chunk. Null if the
 * JSON of a text differs from that part, as for a text that begins inside a character. `pagesOf`: first page of a fine
 * chunk, and the page after its last.
 */
export function encodeFineParts(
  { chunk, json, pathEnd, textStart }: ChunkJson,
  { terms, codes }: FineChunkData,
  { generation, pagesOf }: { readonly generation: number; readonly pagesOf: (index: number) => PageSpan },
): FineParts | null {
  const { text, children } = chunk;
  const spans = new Uint32Array(6 * children.length);
  // The end of the previous fine chunk, in units of the text and bytes of the JSON: most begin there.
  let [units, bytes] = [0, textStart];
  for (const [index, { start, end, startCodePoint, endCodePoint }] of children.entries()) {
    const from =
      start >= units
        ? bytes + escapeText(text.slice(units, start)).length
        : textStart + escapeText(text.slice(0, start)).length;
    const part = escapeText(text.slice(start, end));
    const to = from + part.length;
    if (!part.equals(json.subarray(from, to))) return null;
    const { pageStart, pageEnd } = pagesOf(index);
    spans.set([from, to, startCodePoint, endCodePoint, pageStart, pageEnd], 6 * index);
    [units, bytes] = [end, to];
  }
  return { generation, pathEnd, terms, codes, spans };
}

type PageSpan = Pick<StoredChunk, 'pageStart' | 'pageEnd'>;

/** Returns the text as it stands between the quotation marks of a JSON string. */
function escapeText(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}
