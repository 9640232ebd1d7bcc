import { formatPageRanges } from '../page-text.ts';

/** Pages with missing content, by zero-based index. */
export interface PageProblems {
  readonly empty: number[];
  readonly unreadable: number[];
  readonly broken: number[];
  readonly cut: number[];
}

/** Reports dropped repeated lines, so that their absence from search results can be explained. */
export function listRepetitionWarnings(dropped: ReadonlyMap<string, number>): string[] {
  const count = [...dropped.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) return [];
  const examples = [...dropped]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([wording]) => `"${wording.slice(0, 60)}"`);
  return [
    `Repeated headers, footers and page numbers were removed (${count} lines): ${examples.join(', ')}.`,
  ];
}

export function listProblemWarnings({ empty, unreadable, broken, cut }: PageProblems): string[] {
  const warnings: string[] = [];
  if (empty.length > 0)
    warnings.push(`These pages contain no text, only images or nothing: ${formatPageRanges(empty)}.`);
  if (unreadable.length > 0) {
    warnings.push(
      `The fonts on these pages have no character mapping, so their text cannot be extracted: ${formatPageRanges(unreadable)}.`,
    );
  }
  if (broken.length > 0)
    warnings.push(`These pages are damaged and were left empty: ${formatPageRanges(broken)}.`);
  if (cut.length > 0)
    warnings.push(`Text on these pages was truncated at the limit per page: ${formatPageRanges(cut)}.`);
  return warnings;
}
