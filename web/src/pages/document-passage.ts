import { useEffect, useRef, useState } from 'preact/hooks';
import type { TextRange } from '../../../src/core/text-blocks.ts';
import type { PageResponse } from '../../../src/schemas/documents.ts';
import type { LineRectangle } from '../../../src/schemas/query-fields.ts';
import { locateCited, locatePassage, parsePassageFragment, strongLines } from './passage.ts';

/** A snippet may start on an earlier page than its passage; this many pages are opened to find it. */
const searchedPagesMax = 16;

/** A line of the passage on the image of a page. */
export interface PassageLine extends LineRectangle {
  /** Whether it belongs to the passage itself, not only to the cited text around it. */
  readonly isStrong: boolean;
}

export interface MarkedPassage {
  /** Range on the shown page; null if the passage is on another page. */
  readonly range: TextRange | null;
  /** The cited text around it on the shown page; null if there is none. */
  readonly cited: TextRange | null;
  /** Page of the passage, from 0; null until it is found. */
  readonly page: number | null;
  /** Places of its lines on the image of the shown page. */
  readonly lines: readonly PassageLine[];
  /** Keeps the page that the user opened. */
  readonly stopSearch: () => void;
}

/** Passage of the URL. Opens the following pages until it is found. */
export function useMarkedPassage(
  shown: PageResponse | null | undefined,
  { pages, openPage }: { readonly pages: number; readonly openPage: (index: number) => void },
): MarkedPassage {
  const [passage, setPassage] = useState(() => parsePassageFragment(window.location.hash));
  const searchedPages = useRef(0);
  const foundPage = useRef<number | null>(null);
  useEffect(() => {
    const readFragment = () => {
      searchedPages.current = 0;
      foundPage.current = null;
      setPassage(parsePassageFragment(window.location.hash));
    };
    window.addEventListener('hashchange', readFragment);
    return () => window.removeEventListener('hashchange', readFragment);
  }, []);
  const index = shown?.page_index ?? 0;
  const found =
    passage === null || shown === null || shown === undefined ? null : locatePassage(passage, shown);
  const isAfter = found === 'after';
  useEffect(() => {
    if (!isAfter || index >= pages - 1 || searchedPages.current >= searchedPagesMax) return;
    searchedPages.current += 1;
    openPage(index + 1);
  }, [isAfter, index]);
  const range = found === 'after' ? null : found;
  if (range !== null) foundPage.current ??= index;
  const stopSearch = () => {
    searchedPages.current = searchedPagesMax;
  };
  const cited = passage === null || !shown ? null : locateCited(passage, shown);
  // Without a sentence in it, the cited text itself is the passage.
  const sentence = range !== null && cited !== null && isSameRange(cited, range) ? null : range;
  const rectangles = passage?.rectangles?.find(({ page }) => page === index)?.rectangles ?? [];
  const strong =
    cited !== null && sentence !== null && shown
      ? strongLines(shown.content ?? '', { cited, sentence, count: rectangles.length })
      : null;
  const lines = rectangles.map((rectangle, i) => ({
    ...rectangle,
    isStrong: cited === null || (strong?.has(i) ?? false),
  }));
  return { range: sentence, cited, page: foundPage.current, lines, stopSearch };
}

function isSameRange(one: TextRange, other: TextRange): boolean {
  return one.start === other.start && one.end === other.end;
}
