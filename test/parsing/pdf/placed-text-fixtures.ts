import type { ParsedDocument } from '../../../src/parsing/process/parse-task.ts';
import { parseInProcess } from '../parse-in-process.ts';
import { buildPdfWithPlacedText, type PdfOptions, type PlacedText } from '../pdf-fixtures.ts';

/** Pages with text at given positions. */

/** Builds and parses a PDF with text at these positions. */
export async function parsePdf(
  pages: readonly (readonly PlacedText[])[],
  options: PdfOptions = {},
): Promise<ParsedDocument> {
  return await parseInProcess(buildPdfWithPlacedText(pages, options));
}

export const wording =
  'the quick brown fox jumps over the lazy dog while seven old wizards make toxic brew for the evil queen and jack';

/** Lines of text of about `units` characters; each starts with `marker` and its number to identify it. */
export function prose(marker: string, count: number, units: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const words = `${wording} ${wording}`.slice(i * 4).replace(/^\S*\s/, '');
    return `${marker}${i + 1} ${words.slice(0, units - 4).trim()}`;
  });
}

/** One line below the other, the first at `top`. */
export function column(
  lines: readonly string[],
  x: number,
  top: number,
  more: Partial<PlacedText> = {},
): PlacedText[] {
  const pitch = (more.size ?? 11) * 1.2;
  return lines.map((text, i) => ({ text, x, y: top - i * pitch, ...more }));
}
