import type { FilterNode } from '../../src/index/collection-index.ts';
import { parseFilter } from '../../src/search/filter.ts';
import { matchesFilter } from '../../src/search/filter-match.ts';
import { seededRandom } from '../index/samples.ts';
import t from '../support/tap.ts';
import { openMetadataIndex } from './metadata-index.ts';

/** Strings whose order by UTF-8 bytes and by UTF-16 units differs, and strings with common prefixes. */
const words = ['', 'a', 'ab', 'b', 'é', '\uffee', '\u{1f600}', 'Z'] as const;
const names = ['kind', 'year', 'constructor', '__proto__'] as const;
/** Values that documents have or almost have, and bounds of characters. */
const prefixes = ['', 'a', 'ab', 'é', '\uffee', '\u{1f600}', '\ud7ff', '\u{10ffff}', 'a\u{10ffff}'] as const;
const comparisons = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;

type Metadata = Record<string, string | string[]>;

/** Plain evaluation of a filter as requests write it. */
function scan(filter: Record<string, unknown>, metadata: Metadata): boolean {
  return Object.entries(filter).every(([key, value]) => {
    const all = value as Record<string, unknown>[];
    if (key === '$and') return all.every((each) => scan(each, metadata));
    if (key === '$or') return all.some((each) => scan(each, metadata));
    if (key === '$not') return !scan(value as Record<string, unknown>, metadata);
    const actual = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    return Object.entries(value as Record<string, unknown>).every(([name, operand]) =>
      holds(name, operand, actual),
    );
  });
}

function holds(name: string, operand: unknown, actual: string | string[] | undefined): boolean {
  const values = actual === undefined ? [] : [actual].flat();
  const order = (other: unknown) => Buffer.compare(Buffer.from(values[0] ?? ''), Buffer.from(String(other)));
  const [low, high] = Array.isArray(operand) ? operand : [];
  switch (name) {
    case '$not':
      return !Object.entries(operand as object).every(([inner, each]) => holds(inner, each, actual));
    case '$exists':
      return values.length > 0 === operand;
    case '$contains':
      return [operand].flat().every((each) => values.includes(each as string));
    case '$in':
      return values.some((each) => (operand as string[]).includes(each));
    case '$ne':
      return values.length === 0 || order(operand) !== 0;
    case '$prefix':
      return values.length > 0 && values[0]!.startsWith(operand as string);
    case '$between':
      return values.length > 0 && order(low) >= 0 && order(high) <= 0;
    case '$gt':
      return values.length > 0 && order(operand) > 0;
    case '$lte':
      return values.length > 0 && order(operand) <= 0;
    default:
      throw new Error(`no plain evaluation of ${name}`);
  }
}

t.test('existence, prefixes, ranges, lists and negation equal a plain scan, in search too', async (t) => {
  const random = seededRandom(21);
  const among = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;
  const anyValue = () => among([...words, ...prefixes]) + among(['', 'x', '\u{10ffff}']);
  const listOf = () => words.filter(() => random() < 0.3);
  const documents = Array.from({ length: 60 }, (): Metadata => {
    const strings = names.filter(() => random() < 0.6).map((name) => [name, anyValue()] as const);
    return Object.fromEntries([...strings, ...(random() < 0.6 ? [['list:tags', listOf()] as const] : [])]);
  });
  const conditionOf = (isList: boolean): Record<string, unknown> => {
    const choice = random();
    if (choice < 0.2) return { $not: conditionOf(isList) };
    if (choice < 0.4) return { $exists: random() < 0.5 };
    if (isList) return choice < 0.7 ? { $contains: among([among(words), ['a', 'é']]) } : { $in: listOf() };
    if (choice < 0.6) return { $prefix: among(prefixes) };
    if (choice < 0.8) return { $between: [among(words), anyValue()] };
    return { [among(['$gt', '$lte', '$ne'])]: anyValue() };
  };
  const filterOf = (depth: number): Record<string, unknown> => {
    const choice = depth === 0 ? 1 : random();
    if (choice < 0.3) return { [among(['$and', '$or'])]: [filterOf(depth - 1), filterOf(depth - 1)] };
    if (choice < 0.5) return { $not: filterOf(depth - 1) };
    const name = among([...names.filter((each) => each !== '__proto__'), 'list:tags']);
    return { [name]: conditionOf(name === 'list:tags') };
  };
  const index = await openMetadataIndex(t, documents, random);
  let matching = 0;
  for (let round = 0; round < 500; round += 1) {
    const filter = filterOf(3);
    const expected = documents.flatMap((metadata, i) => (scan(filter, metadata) ? [i] : []));
    const node = parseFilter(filter)!;
    const found = [...(await index.list(node, 100))].sort((a, b) => a - b);
    const matched = documents.flatMap((metadata, i) => (matchesFilter(node, metadata) ? [i] : []));
    matching += expected.length;
    if (found.join() === expected.join() && matched.join() === expected.join()) continue;
    t.same({ found, matched }, { found: expected, matched: expected }, JSON.stringify(filter));
    break;
  }
  t.ok(matching > 5_000 && matching < 25_000, `the filters distinguish documents: ${matching}`);
  await index.close();
});

t.test('filter matching of one document agrees with search', async (t) => {
  const random = seededRandom(20);
  const among = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;
  const several = () => words.filter(() => random() < 0.4);
  const metadataOf = (): Record<string, string | string[]> =>
    Object.fromEntries([
      ...names.filter(() => random() < 0.6).map((name) => [name, among(words)] as const),
      ...(random() < 0.6 ? [['list:tags', several()] as const] : []),
    ]);
  const filterOf = (depth: number): FilterNode => {
    const choice = random();
    if (depth > 0 && choice < 0.4) {
      const nodes = Array.from({ length: 1 + Math.floor(random() * 3) }, () => filterOf(depth - 1));
      return { kind: among(['and', 'or']), nodes };
    }
    if (choice < 0.7)
      return {
        kind: 'compare',
        attribute: among(names),
        operator: among(comparisons),
        value: among(words),
      };
    const attribute = among([...names, 'list:tags']);
    return { kind: 'member', attribute, operator: among(['in', 'nin']), values: several() };
  };
  const documents = Array.from({ length: 60 }, metadataOf);
  const index = await openMetadataIndex(t, documents, random);
  let matching = 0;
  for (let round = 0; round < 400; round += 1) {
    const filter = filterOf(3);
    const found = [...(await index.list(filter, 100))].sort((a, b) => a - b);
    const matched = documents.flatMap((metadata, i) => (matchesFilter(filter, metadata) ? [i] : []));
    matching += matched.length;
    if (found.join() === matched.join()) continue;
    t.same(matched, found, JSON.stringify(filter));
    break;
  }
  t.ok(matching > 2_000 && matching < 22_000, 'the filters distinguish documents');
  await index.close();
});
