import { breakStrength } from './breaks.ts';

/**
 * Lengths of a chunk in UTF-16 units. Chunks of a text that offers breaks lie in [min, max]; the last one may
 * be shorter.
 */
export interface ChunkLengths {
  readonly min: number;
  readonly target: number;
  readonly max: number;
}

/** Value of each break strength, and the value a cut loses per target length of distance from the target. */
const breakValues: Readonly<Float64Array> = Float64Array.from([-Infinity, 0, 12, 25, 40, 48, 60, 75, 80]);
const distanceCost = 70;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns the end positions of the chunks that tile [from, to) of `text`, ascending, the last one equal to
 * `to`. `scores` come from `scoreBreaks`. Greedy: each chunk takes the best break in its window, so an edit
 * changes only the chunks near it. No cut splits a surrogate pair or a grapheme shorter than twice `max`.
 */
export function findChunkEnds(
  text: string,
  scores: Uint8Array,
  from: number,
  to: number,
  lengths: ChunkLengths,
): number[] {
  const ends: number[] = [];
  let start = from;
  while (to - start > lengths.target + lengths.min) {
    const chosen = findBestBreak(scores, start, to, lengths);
    start = chosen < to ? snapToGrapheme(text, start, chosen, to, lengths.max * 2) : to;
    ends.push(start);
  }
  if (start < to) ends.push(to);
  return ends;
}

function findBestBreak(scores: Uint8Array, start: number, to: number, lengths: ChunkLengths): number {
  const lastInWindow = Math.min(start + lengths.max, to - lengths.min);
  const perUnit = distanceCost / lengths.target;
  const targetEnd = start + lengths.target;
  let best = -1;
  let bestValue = -Infinity;
  for (let position = start + lengths.min; position <= lastInWindow; position += 1) {
    const distance = position < targetEnd ? targetEnd - position : position - targetEnd;
    const value = breakValues[scores[position]!]! - distance * perUnit;
    if (value > bestValue) {
      bestValue = value;
      best = position;
    }
  }
  if (best >= 0) return best;
  const cap = Math.min(start + lengths.max * 2, to);
  for (let position = lastInWindow + 1; position < cap; position += 1) {
    if (scores[position] !== breakStrength.forbidden) return position;
  }
  return cap;
}

/**
 * Returns the cut nearest to `cut` that splits no grapheme: `cut` itself, else the start of the grapheme
 * around it, else its end. `start` must be a grapheme boundary, so that a slice from there is segmented like
 * the whole text; the slice is at most `cap` units, because Intl.Segmenter is quadratic on long strings in
 * Node 20.
 */
function snapToGrapheme(text: string, start: number, cut: number, to: number, cap: number): number {
  if (isCertainBoundary(text.charCodeAt(cut - 1), text.charCodeAt(cut))) return cut;
  const grapheme = findGrapheme(text.slice(start, Math.min(cut + 2, to)), cut - start);
  if (grapheme.index > 0) return start + grapheme.index;
  const sliceEnd = Math.min(start + cap, to);
  const slice = text.slice(start, sliceEnd);
  const first = findGrapheme(slice, cut - start);
  if (first.index > 0) return start + first.index;
  if (first.segment.length < slice.length || sliceEnd === to) return start + first.segment.length;
  return isLowSurrogate(text.charCodeAt(sliceEnd)) ? sliceEnd - 1 : sliceEnd;
}

function findGrapheme(slice: string, index: number): { index: number; segment: string } {
  return graphemes.segment(slice).containing(index) ?? { index: 0, segment: slice };
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * Whether Unicode text segmentation always breaks between these two units; avoids a call to the segmenter.
 */
function isCertainBoundary(before: number, after: number): boolean {
  return isStandaloneUnit(before) && isStandaloneUnit(after) && !(before === 0x0d && after === 0x0a);
}

/**
 * Whether a unit neither extends nor joins another: Latin, Greek, Cyrillic, basic Arabic letters, CJK, Hangul
 * syllables.
 */
function isStandaloneUnit(unit: number): boolean {
  if (unit < 0x300) return true;
  if (unit < 0x3001) {
    return (
      (unit >= 0x370 && unit <= 0x482) ||
      (unit >= 0x48a && unit <= 0x52f) ||
      (unit >= 0x620 && unit <= 0x64a) ||
      (unit >= 0x2010 && unit <= 0x2027)
    );
  }
  return (
    unit <= 0x3029 ||
    (unit >= 0x3041 && unit <= 0x3096) ||
    (unit >= 0x30a0 && unit <= 0x30ff) ||
    (unit >= 0x3400 && unit <= 0x4dbf) ||
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3) ||
    (unit >= 0xff01 && unit <= 0xff60)
  );
}
