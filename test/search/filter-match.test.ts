import { join } from 'node:path';
import t from 'tap';
import type { FilterNode } from '../../src/index/collection-index.ts';
import { matchesFilter } from '../../src/search/filter-match.ts';
import {
  createTemporaryFolder,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from '../index/samples.ts';

/** Strings whose order by UTF-8 bytes and by UTF-16 units differs, and strings with common prefixes. */
const words = ['', 'a', 'ab', 'b', 'é', '\uffee', '\u{1f600}', 'Z'] as const;
const names = ['kind', 'year', 'constructor', '__proto__'] as const;
const comparisons = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;

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
  const folder = createTemporaryFolder();
  t.teardown(folder.remove);
  const index = await openIndex(join(folder.path, 'index'));
  const vectors = randomClusters(8, 5, random);
  const documents = Array.from({ length: 60 }, metadataOf);
  for (const [version, metadata] of documents.entries()) {
    await index.stage(makeDocument({ shard: 0, version }, [vectors()], metadata));
    index.commit({ sequence: version, shard: 0, add: version });
  }
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
