import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Change {
  readonly kind: 'set' | 'remove';
  readonly name: string;
  readonly value: string;
}
type Metadata = Readonly<Record<string, string | readonly string[]>>;
interface Module {
  readonly applyChanges: (metadata: Metadata, changes: readonly Change[]) => Metadata;
  readonly findChangeError: (changes: readonly Change[]) => string | null;
}

t.test('changes set and remove fields and leave others', async (t) => {
  const { applyChanges } = await importWebModule<Module>('pages/metadata-changes.ts');
  const metadata = { year: '2025', author: 'Ada', 'list:tags': ['a', 'b'] };
  const cases: readonly (readonly [readonly Change[], object])[] = [
    [[{ kind: 'set', name: 'year', value: '2026' }], { ...metadata, year: '2026' }],
    [[{ kind: 'remove', name: 'author', value: '' }], { year: '2025', 'list:tags': ['a', 'b'] }],
    [[{ kind: 'set', name: 'list:tags', value: ' c, d d,, ' }], { ...metadata, 'list:tags': ['c', 'd d'] }],
    [[{ kind: 'set', name: '__proto', value: 'x' }], { ...metadata, __proto: 'x' }],
  ];
  for (const [changes, expected] of cases) t.same(applyChanges(metadata, changes), expected);
});

t.test('changes without an effect return the same object', async (t) => {
  const { applyChanges } = await importWebModule<Module>('pages/metadata-changes.ts');
  const metadata = { year: '2025', 'list:tags': ['a', 'b'] };
  for (const change of [
    { kind: 'set', name: 'year', value: '2025' },
    { kind: 'set', name: 'list:tags', value: 'a, b' },
    { kind: 'remove', name: 'author', value: '' },
  ] as const)
    t.equal(applyChanges(metadata, [change]), metadata, change.name);
});

t.test('invalid names and repeated fields have a reason', async (t) => {
  const { findChangeError } = await importWebModule<Module>('pages/metadata-changes.ts');
  const set = (name: string): Change => ({ kind: 'set', name, value: 'x' });
  t.equal(findChangeError([set('a'), set('list:a')]), null);
  for (const name of ['a b', 'ä', 'list:', 'other:a'])
    t.match(findChangeError([set(name)]), /Names consist/, name);
  t.match(findChangeError([set('a'), set('a')]), /only once/);
});
