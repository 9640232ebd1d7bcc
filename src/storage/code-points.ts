/**
 * Returns the code points [start, end) of `text`. `length`: number of code points of the whole text, which
 * turns the common case, a text without surrogate pairs, into a plain slice.
 */
export function sliceCodePoints(
  text: string,
  span: { readonly start: number; readonly end: number },
  length: number,
): string {
  if (span.start <= 0 && span.end >= length) return text;
  if (text.length === length) return text.slice(span.start, span.end);
  const from = unitOffset(text, span.start, 0);
  return text.slice(from, unitOffset(text, span.end - span.start, from));
}

/** Returns the UTF-16 offset `count` code points after `from`. */
function unitOffset(text: string, count: number, from: number): number {
  let offset = from;
  for (let passed = 0; passed < count && offset < text.length; passed += 1) {
    offset += (text.codePointAt(offset) as number) > 0xffff ? 2 : 1;
  }
  return offset;
}
