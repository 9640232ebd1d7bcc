/**
 * How well passages answer a question, character by character, as "Evaluating Chunking Strategies for Retrieval" (Smith
 * and Troynikov, 2024) measures it: a passage that is found twice counts twice among what was found.
 */

/** Characters of a document: code points, half-open. */
export interface Span {
  readonly document: string;
  readonly start: number;
  readonly end: number;
}

export interface PassageQuality {
  /** Share of the wanted characters that were found. */
  readonly recall: number;
  /** Share of the found characters that were wanted; 0 when nothing was found. */
  readonly precision: number;
  /** Found and wanted, of what is found or wanted: intersection over union. */
  readonly overlap: number;
}

/** `wanted` has a character at least. */
export function passageQuality(found: readonly Span[], wanted: readonly Span[]): PassageQuality {
  const [foundOnce, wantedOnce] = [joined(found), joined(wanted)];
  const common = charactersOf(
    foundOnce.flatMap((one) => wantedOnce.flatMap((other) => intersection(one, other))),
  );
  const [foundCount, wantedCount] = [charactersOf(found), charactersOf(wantedOnce)];
  return {
    recall: common / wantedCount,
    precision: foundCount === 0 ? 0 : common / foundCount,
    overlap: common / (foundCount + wantedCount - common),
  };
}

function charactersOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

function intersection(one: Span, other: Span): Span[] {
  const [start, end] = [Math.max(one.start, other.start), Math.min(one.end, other.end)];
  return one.document === other.document && start < end ? [{ document: one.document, start, end }] : [];
}

/** The same characters in spans that do not overlap. */
function joined(spans: readonly Span[]): Span[] {
  const sorted = spans.toSorted(
    (a, b) => Number(a.document > b.document) - Number(a.document < b.document) || a.start - b.start,
  );
  const apart: Span[] = [];
  for (const span of sorted) {
    const last = apart.at(-1);
    if (last === undefined || last.document !== span.document || last.end < span.start) apart.push(span);
    else apart[apart.length - 1] = { ...last, end: Math.max(last.end, span.end) };
  }
  return apart;
}
