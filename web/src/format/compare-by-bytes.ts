/** Compares as the server does: by UTF-8 bytes, which equals the order of code points. */
export function compareByBytes(one: string, other: string): number {
  const [oneCharacters, otherCharacters] = [one[Symbol.iterator](), other[Symbol.iterator]()];
  for (;;) {
    const [left, right] = [oneCharacters.next(), otherCharacters.next()];
    if (left.done === true || right.done === true)
      return Number(right.done ?? false) - Number(left.done ?? false);
    const difference = (left.value.codePointAt(0) ?? 0) - (right.value.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
}
