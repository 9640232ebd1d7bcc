import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

const { fuzzyScore } = await importWebModule<{
  fuzzyScore: (typed: string, name: string) => number | null;
}>('format/fuzzy-match.ts');

/** Returns the names that match, best first. */
function rank(typed: string, names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, score: fuzzyScore(typed, name) }))
    .filter((each): each is { name: string; score: number } => each.score !== null)
    .sort((one, other) => other.score - one.score)
    .map(({ name }) => name);
}

t.test('names match if they contain the letters in their order', async (t) => {
  const names = ['API keys', 'Audit log', 'Overview', 'Keyboard shortcuts', 'Create API key'];
  t.same(rank('api', names), ['API keys', 'Create API key']);
  t.same(rank('key', names), ['API keys', 'Create API key', 'Keyboard shortcuts'], 'short names first');
  t.same(rank('al', ['Journal', 'Audit log']), ['Journal', 'Audit log'], 'consecutive letters first');
  t.same(rank('ovw', names), ['Overview']);
  t.same(rank('zzz', names), []);
  t.equal(rank('', names).length, names.length);
});

t.test('case, accents and spaces do not matter', async (t) => {
  t.ok(fuzzyScore('MULLER', 'Müller GmbH'));
  t.ok(fuzzyScore('apikey', 'API keys'));
  t.ok(fuzzyScore('api  keys', 'API keys'));
});

t.test('an exact start ranks before letters that are spread', async (t) => {
  t.same(rank('doc', ['Dark or cool', 'Documents', 'My documents']), [
    'Documents',
    'My documents',
    'Dark or cool',
  ]);
});
