/** Returns the page of a code point of the document; the separator after a page belongs to that page. */
export function findPage(pageStarts: Uint32Array, codePoint: number): number {
  let low = 0;
  let high = pageStarts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pageStarts[middle]! <= codePoint) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/**
 * Splits a text into the pieces on each page, in order. `start`: code point of its first character in the
 * document.
 */
export function splitByPage(
  pageStarts: Uint32Array,
  text: string,
  start: number,
): { readonly page: number; readonly text: string }[] {
  const first = findPage(pageStarts, start);
  if ((pageStarts[first + 1] ?? Number.POSITIVE_INFINITY) >= start + text.length)
    return [{ page: first, text }];
  const points = [...text];
  const pieces: { page: number; text: string }[] = [];
  for (let at = 0; at < points.length; ) {
    const page = findPage(pageStarts, start + at);
    const end = Math.min(points.length, (pageStarts[page + 1] ?? Number.POSITIVE_INFINITY) - start);
    pieces.push({ page, text: points.slice(at, end).join('') });
    at = end;
  }
  return pieces;
}
