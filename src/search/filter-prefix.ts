import type { FilterNode } from '../index/collection-index.ts';

const codePointMax = 0x10ffff;
const surrogateFirst = 0xd800;
const surrogateEnd = 0xe000;

/**
 * Returns the conditions on a string that starts with `prefix`: a range, because strings are ordered by their
 * UTF-8 bytes, which is the order of their code points.
 */
export function prefixConditions(attribute: string, prefix: string): FilterNode[] {
  const lowest: FilterNode = { kind: 'compare', attribute, operator: 'gte', value: prefix };
  const end = endOfPrefix(prefix);
  return end === null ? [lowest] : [lowest, { kind: 'compare', attribute, operator: 'lt', value: end }];
}

/** Returns the first string after all strings with this prefix; null if there is none. */
function endOfPrefix(prefix: string): string | null {
  const codePoints = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (codePoints.at(-1) === codePointMax) codePoints.pop();
  const last = codePoints.pop();
  if (last === undefined) return null;
  const next = last + 1 === surrogateFirst ? surrogateEnd : last + 1;
  return String.fromCodePoint(...codePoints, next);
}
