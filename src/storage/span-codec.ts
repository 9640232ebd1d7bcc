import { IntegerReader, pushSigned } from '../core/variable-length.ts';

/** Numbers of a fine chunk in the order of `FineChunkSpan`. */
export const numbersPerSpan = 4;

/**
 * Encodes the spans of fine chunks of a chunk whose text starts at code point `start` of the document, as
 * variable-length integers: the gap after the span before it, its length, and how much both differ in code points.
 * Without characters beyond the basic plane, the last two are 0.
 */
export function encodeSpans(spans: Uint32Array, start: number): Uint8Array {
  const bytes: number[] = [];
  let [endBefore, endPointBefore] = [0, start];
  for (let i = 0; i < spans.length; i += numbersPerSpan) {
    const [first = 0, end = 0, firstPoint = 0, endPoint = 0] = spans.subarray(i, i + numbersPerSpan);
    const [gap, length] = [first - endBefore, end - first];
    pushSigned(bytes, gap);
    pushSigned(bytes, length);
    pushSigned(bytes, firstPoint - endPointBefore - gap);
    pushSigned(bytes, endPoint - firstPoint - length);
    [endBefore, endPointBefore] = [end, endPoint];
  }
  return Uint8Array.from(bytes);
}

/** Returns the numbers of the spans. */
export function decodeSpans(bytes: Uint8Array, start: number): number[] {
  const reader = new IntegerReader(bytes);
  const spans: number[] = [];
  let [end, endPoint] = [0, start];
  while (!reader.isAtEnd) {
    const gap = reader.readSigned();
    const length = reader.readSigned();
    const first = end + gap;
    const firstPoint = endPoint + gap + reader.readSigned();
    end = first + length;
    endPoint = firstPoint + length + reader.readSigned();
    spans.push(first, end, firstPoint, endPoint);
  }
  return spans;
}
