/**
 * Character-level quality of retrieved passages, as defined in "Evaluating Chunking Strategies for Retrieval"
 * (Smith and Troynikov, 2024): a character retrieved twice counts twice in the number of retrieved
 * characters.
 */

/** Span of a document in code points, half-open. */
export interface DocumentSpan {
  readonly document: string;
  readonly start: number;
  readonly end: number;
}

export interface PassageQuality {
  /** Share of the relevant characters that were retrieved. */
  readonly recall: number;
  /** Share of the retrieved characters that are relevant; 0 if nothing was retrieved. */
  readonly precision: number;
  /** Intersection over union of retrieved and relevant characters. */
  readonly overlap: number;
}

/** Measures `retrieved` against `relevant`, which must contain at least one character. */
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

/** Merges overlapping spans, so that each character is covered once. */
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
