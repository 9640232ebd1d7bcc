/**
 * How well passages answer a question, character by character, as "Evaluating Chunking Strategies for Retrieval" (Smith
 * and Troynikov, 2024) measures it: a passage that is found twice counts twice among what was found.
 */

/** Characters of a document: code points, half-open. */
export interface DocumentSpan {
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
export function measurePassageQuality(
  retrieved: readonly DocumentSpan[],
  relevant: readonly DocumentSpan[],
): PassageQuality {
  const [mergedRetrieved, mergedRelevant] = [mergeSpans(retrieved), mergeSpans(relevant)];
  const common = countCharacters(
    mergedRetrieved.flatMap((one) => mergedRelevant.flatMap((other) => intersect(one, other))),
  );
  const [retrievedCount, relevantCount] = [countCharacters(retrieved), countCharacters(mergedRelevant)];
  return {
    recall: common / relevantCount,
    precision: retrievedCount === 0 ? 0 : common / retrievedCount,
    overlap: common / (retrievedCount + relevantCount - common),
  };
}

function countCharacters(spans: readonly DocumentSpan[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

function intersect(first: DocumentSpan, second: DocumentSpan): DocumentSpan[] {
  const [start, end] = [Math.max(first.start, second.start), Math.min(first.end, second.end)];
  return first.document === second.document && start < end ? [{ document: first.document, start, end }] : [];
}

/** The same characters in spans that do not overlap. */
function mergeSpans(spans: readonly DocumentSpan[]): DocumentSpan[] {
  const sorted = spans.toSorted(
    (a, b) => Number(a.document > b.document) - Number(a.document < b.document) || a.start - b.start,
  );
  const merged: DocumentSpan[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (last === undefined || last.document !== span.document || last.end < span.start) merged.push(span);
    else merged[merged.length - 1] = { ...last, end: Math.max(last.end, span.end) };
  }
  return merged;
}
