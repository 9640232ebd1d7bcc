/** Gray pixels, one byte each, row by row. */
export interface GrayPixels {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** Longest side, in pixels, of the image used to measure skew: enough resolution for lines of small type. */
export const skewSidePixels = 1_000;

const degreesMax = 12;
const coarseStep = 0.5;
const fineStep = 0.1;
/** Smaller angles are handled by the engines. */
const degreesMin = 0.5;
/** Minimum ratio of the best sharpness to the median over all angles. */
const sharpnessMin = 1.25;
/** Maximum number of ink edges evaluated, and the minimum for a page to have text lines. */
const edgesMax = 30_000;
const edgesMin = 200;

/**
 * Returns the clockwise skew of the text lines in degrees; 0 when they are straight or there are none. Lines
 * may run along either side of the image. The angle is the one at which the upper (or left) edges of the
 * letters fall into the fewest rows.
 */
export function measureSkew(image: GrayPixels): number {
  const { rows, columns } = findEdges(image);
  const edgeSets = [rows, columns].filter(({ length }) => length >= edgesMin).map(sampleEdges);
  const sharpness = (degrees: number) =>
    Math.max(
      ...edgeSets.map((edges) => computeConcentration(edges, Math.tan((degrees * Math.PI) / 180), image)),
    );
  if (edgeSets.length === 0) return 0;
  const coarse = listAngles(0, degreesMax, coarseStep).map((degrees) => ({
    degrees,
    value: sharpness(degrees),
  }));
  const best = findSharpest(coarse);
  const middle = coarse.map(({ value }) => value).sort((a, b) => a - b)[coarse.length >> 1]!;
  if (best.value < sharpnessMin * middle || Math.abs(best.degrees) === degreesMax) return 0;
  const fine = listAngles(best.degrees, coarseStep, fineStep).map((degrees) => ({
    degrees,
    value: sharpness(degrees),
  }));
  const { degrees } = findSharpest(fine);
  return Math.abs(degrees) < degreesMin ? 0 : Math.round(degrees * 10) / 10;
}

interface Sharpness {
  readonly degrees: number;
  readonly value: number;
}

function findSharpest(all: readonly Sharpness[]): Sharpness {
  return all.reduce((best, one) => (one.value > best.value ? one : best));
}

/** Returns angles from `middle - reach` to `middle + reach`. */
function listAngles(middle: number, reach: number, step: number): number[] {
  const count = Math.round((2 * reach) / step) + 1;
  return Array.from({ length: count }, (_, i) => middle - reach + i * step);
}

interface Edges {
  /** Alternating coordinates across and along the lines. */
  readonly positions: Int32Array;
  readonly length: number;
  /** 1: lines run from left to right; -1: from top to bottom. */
  readonly sign: 1 | -1;
}

/** Finds pixels where ink begins below background, and where it begins to the right of background. */
function findEdges({ width, height, pixels }: GrayPixels): { rows: Edges; columns: Edges } {
  const isInk = classifyInk(pixels);
  const [rows, columns]: [number[], number[]] = [[], []];
  for (let y = 1; y < height; y++) {
    for (let x = 1; x < width; x++) {
      const at = y * width + x;
      if (isInk[pixels[at]!] === 0) continue;
      if (isInk[pixels[at - width]!] === 0) rows.push(y, x);
      if (isInk[pixels[at - 1]!] === 0) columns.push(x, y);
    }
  }
  return {
    rows: { positions: Int32Array.from(rows), length: rows.length / 2, sign: 1 },
    columns: { positions: Int32Array.from(columns), length: columns.length / 2, sign: -1 },
  };
}

/** Samples edges evenly. */
function sampleEdges({ positions: places, length, sign }: Edges): Edges {
  const step = Math.ceil(length / edgesMax);
  if (step === 1) return { positions: places, length, sign };
  const count = Math.floor(length / step);
  const sampled = new Int32Array(2 * count);
  for (let i = 0; i < count; i++) {
    sampled[2 * i] = places[2 * i * step]!;
    sampled[2 * i + 1] = places[2 * i * step + 1]!;
  }
  return { positions: sampled, length: count, sign };
}

/** Returns the sum of squared edge counts over the pixel rows with the given slope, per edge. */
function computeConcentration(
  { positions: places, length, sign }: Edges,
  slope: number,
  { width, height }: GrayPixels,
): number {
  const reach = Math.ceil(Math.abs(slope) * Math.max(width, height)) + 1;
  const counts = new Int32Array(Math.max(width, height) + 2 * reach);
  for (let i = 0; i < length; i++) {
    counts[reach + Math.round(places[2 * i]! - sign * slope * places[2 * i + 1]!)]! += 1;
  }
  return counts.reduce((sum, count) => sum + count * count, 0) / length;
}

/**
 * Returns for each gray value whether it is ink: the rarer side of the threshold that best separates dark
 * from light (Otsu's method).
 */
function classifyInk(pixels: Uint8Array): Uint8Array {
  const histogram = new Float64Array(256);
  for (const value of pixels) histogram[value]! += 1;
  const total = pixels.length;
  const sum = histogram.reduce((all, count, value) => all + count * value, 0);
  let [dark, darkSum] = [0, 0];
  let best = { between: -1, limit: 0, dark: 0 };
  for (let limit = 0; limit < 255; limit++) {
    dark += histogram[limit]!;
    darkSum += limit * histogram[limit]!;
    if (dark === 0 || dark === total) continue;
    const distance = darkSum / dark - (sum - darkSum) / (total - dark);
    const between = dark * (total - dark) * distance * distance;
    if (between > best.between) best = { between, limit, dark };
  }
  const darkIsInk = best.dark * 2 <= total;
  return Uint8Array.from({ length: 256 }, (_, value) => (value <= best.limit === darkIsInk ? 1 : 0));
}
