/**
 * Code points [start, end) of `text`. `length`: the code points of the whole text, which makes the common case, a text
 * without surrogate pairs, a plain slice.
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

/** UTF-16 offset that lies `count` code points behind `from`. */
function unitOffset(text: string, count: number, from: number): number {
  let offset = from;
  for (let passed = 0; passed < count && offset < text.length; passed += 1) {
    offset += (text.codePointAt(offset) as number) > 0xffff ? 2 : 1;
  }
  return offset;
}
