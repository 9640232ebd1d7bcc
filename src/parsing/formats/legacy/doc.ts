import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import { ListNumbering } from '../office/list-numbering.ts';
import type { CompoundFile } from './compound-file.ts';
import { DocFormats } from './doc-formats.ts';
import { readDocLists } from './doc-lists.ts';
import { type DocPiece, readDocPieces, sliceDocPieces } from './doc-pieces.ts';
import { DocText } from './doc-text.ts';
import { readEmbeddedObjectLines } from './embedded-object.ts';
import { readPropertySetTitle } from './property-set.ts';

/** First word of every Word file: Word 97 and later, Word 6 and 95. */
const [word97, word6] = [0xa5ec, 0xa5dc];

/**
 * Parses Word 6 to 2003 documents: paragraphs on lines with their automatic numbers (Word 97 and later),
 * headings by style marked with `#`, table rows as `a | b`, text of charts, notes at the end. Deleted and
 * hidden text is omitted; pages end at manual breaks. Source: [MS-DOC].
 */
export function* parseDoc(file: CompoundFile, limits: ParseLimits): Generator<string, DocumentDetails> {
  const stream = file.read('WordDocument');
  if (stream === null || stream.length < 68) {
    throw new ParseFailure('corrupt', 'The Word file is damaged: its document stream is missing.');
  }
  const layout = readLayout(file, stream);
  const budget = new TextBudget(limits.textUnitsMax);
  const warnings = new Set<string>();
  const objectLines = (object: number): string[] => {
    const streams = { read: (name: string) => file.read(`ObjectPool/_${object}/${name}`) };
    try {
      return readEmbeddedObjectLines(streams, limits, budget);
    } catch (error) {
      if (!(error instanceof ParseFailure) || error.code === 'too_large') throw error;
      warnings.add('A damaged chart or table was skipped.');
      return [];
    }
  };
  const text = new DocText({ ...layout, objectLines }, budget);
  const parts = splitParts(layout.pieces, layout.lengths);
  text.add(stream, parts.main);
  yield* text.takePages();
  text.add(stream, parts.notes);
  const notes = text.takeRemainingText();
  if (notes !== '') yield notes;
  return {
    headings: true,
    title: readPropertySetTitle(file) ?? text.title,
    language: null,
    warnings: [...warnings],
  };
}

interface DocLayout {
  readonly pieces: readonly DocPiece[];
  /** Character counts of the main text, footnotes, headers and so on, in storage order. */
  readonly lengths: readonly number[];
  readonly formats: DocFormats;
  readonly numbering: ListNumbering;
}

function readLayout(file: CompoundFile, stream: Uint8Array): DocLayout {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const flags = view.getUint16(10, true);
  if ((flags & 0x0100) !== 0) {
    throw new ParseFailure('encrypted', 'The Word file is encrypted with a password.');
  }
  const magic = view.getUint16(0, true);
  if (magic === word6) return readWord6(stream, view);
  if (magic !== word97) {
    throw new ParseFailure('unsupported', 'This version of the Word format is not supported.');
  }
  const table = file.read((flags & 0x0200) !== 0 ? '1Table' : '0Table');
  if (table === null)
    throw new ParseFailure('corrupt', 'The Word file is damaged: its table stream is missing.');
  // A shorter header belongs to an early version, which has fewer parts.
  const tableRange = (at: number): [number, number] =>
    at + 8 > stream.length ? [0, 0] : [view.getUint32(at, true), view.getUint32(at + 4, true)];
  const tablePart = (at: number) => {
    const [start, bytes] = tableRange(at);
    return table.subarray(start, start + bytes);
  };
  const lengths = Array.from({ length: 8 }, (_, i) => view.getUint32(76 + i * 4, true));
  const lengthTotal = lengths.reduce((sum, length) => sum + length, 0);
  const pieces = readDocPieces(tablePart(0x1a2), 2, 1252);
  return {
    pieces: pieces ?? [{ start: view.getUint32(24, true), units: lengthTotal, width: 1, codePage: 1252 }],
    lengths,
    formats: new DocFormats(stream, {
      styles: tablePart(0xa2),
      characters: tablePart(0xfa),
      paragraphs: tablePart(0x102),
    }),
    numbering: readDocLists(table, { definitions: tableRange(0x2e2), lists: tableRange(0x2ea) }),
  };
}

/**
 * Reads Word 6 and 95 files, which store 8-bit text in one run, or in pieces after a fast save; their formats
 * are not supported.
 */
function readWord6(stream: Uint8Array, view: DataView): DocLayout {
  const lengths = Array.from({ length: 8 }, (_, i) => view.getUint32(52 + i * 4, true));
  const lengthTotal = lengths.reduce((sum, length) => sum + length, 0);
  const [start, bytes] = [view.getUint32(0x160, true), view.getUint32(0x164, true)];
  const pieces = bytes === 0 ? null : readDocPieces(stream.subarray(start, start + bytes), 1, 1252);
  return {
    pieces: pieces ?? [{ start: view.getUint32(24, true), units: lengthTotal, width: 1, codePage: 1252 }],
    lengths,
    formats: new DocFormats(stream, null),
    numbering: new ListNumbering(),
  };
}

/** Returns the main text, and the footnotes, endnotes and text boxes; headers and comments are omitted. */
function splitParts(
  pieces: readonly DocPiece[],
  lengths: readonly number[],
): { main: DocPiece[]; notes: DocPiece[] } {
  const [main = 0, footnotes = 0, headers = 0, macros = 0, comments = 0, endnotes = 0, boxes = 0] = lengths;
  const afterHeaders = main + footnotes + headers + macros + comments;
  return {
    main: sliceDocPieces(pieces, 0, main),
    notes: [
      ...sliceDocPieces(pieces, main, main + footnotes),
      ...sliceDocPieces(pieces, afterHeaders, afterHeaders + endnotes + boxes),
    ],
  };
}
