import { decodeCodePage } from '../../encoding/code-page.ts';

/**
 * Maximum number of pieces. A Word file stores its characters in pieces; each is one edit of a file saved
 * with fast save.
 */

const piecesMax = 1_000_000;

/** A run of characters that are contiguous in the file. */
export interface DocPiece {
  /** Byte offset in the document stream. */
  readonly start: number;
  readonly units: number;
  /** Bytes per character. */
  readonly width: 1 | 2;
  readonly codePage: number;
}

/** Reads the piece table; the lists of changes before it are skipped. Null when there is none. */
export function readDocPieces(clx: Uint8Array, width: 1 | 2, codePage: number): DocPiece[] | null {
  const view = new DataView(clx.buffer, clx.byteOffset, clx.byteLength);
  let at = 0;
  while (at + 3 <= clx.length && clx[at] === 1) at += 3 + view.getUint16(at + 1, true);
  if (at + 5 > clx.length || clx[at] !== 2) return null;
  const bytes = Math.min(view.getUint32(at + 1, true), clx.length - at - 5);
  const count = Math.min(piecesMax, Math.floor((bytes - 4) / 12));
  const first = at + 5;
  const pieces: DocPiece[] = [];
  for (let i = 0; i < count; i++) {
    const units = view.getUint32(first + (i + 1) * 4, true) - view.getUint32(first + i * 4, true);
    const raw = view.getUint32(first + (count + 1) * 4 + i * 8 + 2, true);
    const narrow = width === 1 || (raw & 0x40000000) !== 0;
    const offset = raw & 0x3fffffff;
    if (units <= 0) continue;
    const start = narrow && width === 2 ? offset / 2 : offset;
    pieces.push({ start, units, width: narrow ? 1 : 2, codePage });
  }
  return pieces;
}

/** Returns the pieces of the characters in the range [from, to). */
export function sliceDocPieces(pieces: readonly DocPiece[], from: number, to: number): DocPiece[] {
  const parts: DocPiece[] = [];
  let position = 0;
  for (const piece of pieces) {
    const first = Math.max(from, position);
    const last = Math.min(to, position + piece.units);
    if (first < last) {
      parts.push({ ...piece, start: piece.start + (first - position) * piece.width, units: last - first });
    }
    position += piece.units;
  }
  return parts;
}

/** Returns the characters of a piece as far as the file contains them. */
export function readDocPieceText(stream: Uint8Array, { start, units, width, codePage }: DocPiece): string {
  const bytes = stream.subarray(start, start + units * width);
  return width === 2 ? new TextDecoder('utf-16le').decode(bytes) : decodeCodePage(bytes, codePage);
}
