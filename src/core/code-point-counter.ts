/** Returns a function that converts ascending UTF-16 offsets of a text to code points. */
export function createCodePointCounter(text: string): (offset: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => offset;
  let unit = 0;
  let codePoint = 0;
  return (offset) => {
    while (unit < offset) {
      unit += text.codePointAt(unit)! > 0xffff ? 2 : 1;
      codePoint += 1;
    }
    return codePoint;
  };
}

/** Returns the number of code points of a well-formed text. */
export function countCodePoints(text: string): number {
  return text.length - (text.match(/[\udc00-\udfff]/g)?.length ?? 0);
}
