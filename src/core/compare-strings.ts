/** Compares by UTF-8 bytes, which equals the order of code points. Returns a negative number, 0, or a positive number. */
export function compareStrings(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let i = 0;
  while (i < end && a.charCodeAt(i) === b.charCodeAt(i)) i += 1;
  if (i === end) return a.length - b.length;
  const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
  // UTF-16 places surrogates, which encode the greatest code points, before the last 8,192 units.
  if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(left) ? 1 : -1;
  return left - right;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
