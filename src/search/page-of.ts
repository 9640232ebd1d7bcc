/** The page that a code point of the document lies on; the separator behind a page counts to that page. */
export function pageOf(pageStarts: Uint32Array, codePoint: number): number {
  let low = 0;
  let high = pageStarts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pageStarts[middle]! <= codePoint) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
