import type { AnalyzedChunk, ChunkTaskResult, StoredChunks } from './chunk-task.ts';

/** Chunk as `encodeChunk` of storage/chunks.ts takes it. */
type EncodableChunk = Omit<AnalyzedChunk, 'children'> & { readonly spans: Uint32Array };
export type EncodeChunk = (chunk: EncodableChunk) => Uint8Array;

/** Numbers per fine chunk in the spans of a result. */
export const numbersPerSpan = 4;

/** Parts of a result that belong to one chunk. */
export interface ChunkParts {
  readonly record: Uint8Array;
  /** Ends of its parts of the codes and of the fine terms of the document. */
  readonly codesEnd: number;
  readonly fineTermsEnd: number;
}

/** Yields the parts of each chunk of a result that is not stored yet, in order. */
export function* encodeParts(
  { chunks, spans, codes, fineTerms }: ChunkTaskResult,
  encode: EncodeChunk,
): Generator<ChunkParts> {
  const rows = chunks.filter(({ blank }) => !blank);
  const codeBytes =
    codes.length /
    Math.max(
      1,
      rows.reduce((sum, { children }) => sum + children, 0),
    );
  const sizes = new DataView(fineTerms.buffer, fineTerms.byteOffset, fineTerms.byteLength);
  let codesEnd = 0;
  let fineTermsEnd = firstFineTerms(rows.length);
  let row = 0;
  let span = 0;
  for (const { children, ...chunk } of chunks) {
    const spanEnd = span + children * numbersPerSpan;
    const record = encode({ ...chunk, spans: spans.subarray(span, spanEnd) });
    span = spanEnd;
    if (!chunk.blank) {
      codesEnd += children * codeBytes;
      fineTermsEnd += sizes.getUint32(row * Uint32Array.BYTES_PER_ELEMENT, true);
      row += 1;
    }
    yield { record, codesEnd, fineTermsEnd };
  }
}

/** Returns where the fine terms of the first row start: after the sizes of all rows. */
export function firstFineTerms(rows: number): number {
  return rows * Uint32Array.BYTES_PER_ELEMENT;
}

/** Returns the same result with its chunks in stored form. */
export function storeChunks(result: ChunkTaskResult, encode: EncodeChunk): ChunkTaskResult {
  const { chunks } = result;
  const parts = [...encodeParts(result, encode)];
  const records = new Uint8Array(parts.reduce((bytes, { record }) => bytes + record.byteLength, 0));
  const ends = new Uint32Array(parts.length * numbersPerChunk);
  let end = 0;
  parts.forEach(({ record, codesEnd, fineTermsEnd }, i) => {
    records.set(record, end);
    end += record.byteLength;
    ends.set([end, codesEnd, fineTermsEnd], i * numbersPerChunk);
  });
  const stored: StoredChunks = {
    records,
    ends,
    starts: Uint32Array.from(chunks, ({ start }) => start),
    chunkOfRow: Uint32Array.from(chunks.flatMap(({ blank }, i) => (blank ? [] : i))),
    languages: [...new Set(chunks.flatMap(({ language }) => language ?? []))],
  };
  return { ...result, chunks: [], stored };
}

/** Numbers per chunk in `StoredChunks.ends`. */
const numbersPerChunk = 3;

/** Yields the parts of each chunk of a result in stored form, as views. */
export function* storedParts({ records, ends }: StoredChunks): Generator<ChunkParts> {
  let start = 0;
  for (let i = 0; i < ends.length; i += numbersPerChunk) {
    const record = records.subarray(start, ends[i]!);
    start = ends[i]!;
    yield { record, codesEnd: ends[i + 1]!, fineTermsEnd: ends[i + 2]! };
  }
}
