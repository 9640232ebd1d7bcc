import type { TextPiece } from './pdf-pieces.ts';
import { computeTypicalHeight } from './pdf-rows.ts';

/** Minimum width of the space between columns, in multiples of the typical type height. */
const gutterMin = 0.9;
/** Share of the width at either side that is excluded from the gutter search. */
const sideShareMin = 0.08;

/**
 * Returns the x position with the most pieces on both sides and few across it; null when hardly any pieces
 * are side by side.
 */
export function findGutter(pieces: readonly TextPiece[]): number | null {
  const em = computeTypicalHeight(pieces);
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const piece of pieces) {
    left = Math.min(left, piece.left);
    right = Math.max(right, piece.right);
  }
  const width = right - left;
  if (!(width > 8 * em) || !Number.isFinite(width)) return null;
  const bins = Math.min(1_000, Math.ceil(width / 2));
  const [crossingDeltas, before, after] = [
    new Int32Array(bins + 2),
    new Int32Array(bins + 2),
    new Int32Array(bins + 2),
  ];
  const bin = (x: number) => Math.max(0, Math.min(bins, Math.round(((x - left) / width) * bins)));
  for (const piece of pieces) {
    const [from, to] = [bin(piece.left - (gutterMin / 2) * em), bin(piece.right + (gutterMin / 2) * em)];
    crossingDeltas[from]! += 1;
    crossingDeltas[to]! -= 1;
    before[to]! += 1;
    after[from]! += 1;
  }
  return findGutterInProfile(
    { across: crossingDeltas, before, after, bins, total: pieces.length },
    left,
    width,
  );
}

interface Profile {
  readonly across: Int32Array;
  readonly before: Int32Array;
  readonly after: Int32Array;
  readonly bins: number;
  readonly total: number;
}

function findGutterInProfile(
  { across, before, after, bins, total }: Profile,
  left: number,
  width: number,
): number | null {
  const [first, last] = [Math.ceil(bins * sideShareMin), Math.floor(bins * (1 - sideShareMin))];
  let [crossing, ended, started] = [0, 0, 0];
  let best = { score: 0, from: -1, to: -1 };
  for (let i = 0; i <= last; i++) {
    crossing += across[i]!;
    ended += before[i]!;
    started += after[i]!;
    if (i < first) continue;
    const score = Math.min(ended, total - started) - 0.5 * crossing;
    if (score > best.score) best = { score, from: i, to: i };
    else if (score === best.score && best.to === i - 1) best.to = i;
  }
  return best.score < 2 ? null : left + ((best.from + best.to) / 2 / bins) * width;
}
