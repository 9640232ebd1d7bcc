import { cleanPageText } from '../page-text.ts';
import type { PageContent } from './pdf-source.ts';

/** Returns the first lines in the largest type of a page, if it is clearly larger than the typical type. */
export function findLargestText(content: PageContent | null): string | null {
  if (content === null) return null;
  const lines = content.source.textLines.filter(({ cells, hasGaps }) => !cells && !hasGaps);
  const heights = lines.map(({ height }) => height).sort((a, b) => a - b);
  const largest = heights.at(-1) ?? 0;
  if (lines.length < 3 || largest < 1.25 * heights[heights.length >> 1]!) return null;
  const first = lines.findIndex(({ height }) => height >= 0.98 * largest);
  const more = lines.slice(first).findIndex(({ height }) => height < 0.98 * largest);
  return lines
    .slice(first, more < 0 ? undefined : first + more)
    .map(({ text }) => text)
    .join(' ');
}

/** Default titles written by programs, and opening headings that are not the title of the document. */
const defaultTitle =
  /^(?:\(?anonymous\)?|(?:untitled|unbenannt|sans titre|document|presentation)[\s-]*\d*|powerpoint presentation|(?:table of )?contents)$/i;

/**
 * Returns a title given by an author: not empty, not a program's default, not a file name. Otherwise null.
 */
export function cleanTitle(raw: string): string | null {
  const title = cleanPageText({ text: raw, edges: [] })
    .text.replace(/\s+/g, ' ')
    .replace(/^Microsoft (?:Word|PowerPoint|Excel) - /, '');
  if (!/\p{L}{2}/u.test(title) || title.length > 300) return null;
  return defaultTitle.test(title) || /\.\w{2,4}$/.test(title) ? null : title;
}
