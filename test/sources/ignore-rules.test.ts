import { IgnoreRules } from '../../src/sources/directory/ignore-rules.ts';
import t from '../support/tap.ts';

/** Expected results are those of `git check-ignore`. */
const cases: readonly (readonly [rules: string, ignored: readonly string[], others: readonly string[]])[] = [
  ['*.log', ['a.log', 'deep/b.log', '.log'], ['a.logs', 'log']],
  ['/a.txt', ['a.txt'], ['deep/a.txt']],
  ['build/', ['build/', 'deep/build/'], ['build', 'deep/build']],
  ['doc/*.txt', ['doc/a.txt'], ['doc/deep/a.txt', 'other/doc/a.txt']],
  ['**/cache', ['cache', 'a/cache', 'a/b/cache/'], ['a/caches']],
  ['a/**', ['a/b', 'a/b/c'], ['a/', 'b/a/c']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['az', 'b/a/z']],
  ['*.txt\n!keep.txt', ['a.txt'], ['keep.txt', 'deep/keep.txt']],
  ['!a.txt\na.txt', ['a.txt'], []],
  ['# comment\n\\#a', ['#a'], ['# comment', 'a']],
  ['\\!a', ['!a'], ['a']],
  ['a  \nb\\ ', ['a', 'b '], ['a  ', 'b']],
  ['[a-c].t?t', ['a.txt', 'c.tat'], ['d.txt', 'a.tt']],
  ['[!a].txt', ['b.txt'], ['a.txt']],
  ['[]x].txt', ['].txt', 'x.txt'], ['a.txt']],
  ['*ü*', ['grün', 'ü'], ['u']],
  ['a\r\nb', ['a', 'b'], []],
  ['', [], ['a']],
];

t.test('patterns match as those of gitignore', async (t) => {
  for (const [text, ignored, others] of cases) {
    const rules = IgnoreRules.none.with(text, 0);
    const ignores = (path: string) => rules.ignores(path.split('/').filter(Boolean), path.endsWith('/'));
    for (const path of ignored) t.ok(ignores(path), `${JSON.stringify(text)} ignores ${path}`);
    for (const path of others) t.notOk(ignores(path), `${JSON.stringify(text)} keeps ${path}`);
  }
});

t.test('the file of a deeper folder has precedence', async (t) => {
  const rules = IgnoreRules.none.with('*.log', 0).with('!keep.log\n/a.txt', 1);
  t.ok(rules.ignores(['deep', 'b.log'], false));
  t.notOk(rules.ignores(['deep', 'keep.log'], false));
  t.ok(rules.ignores(['deep', 'a.txt'], false));
  t.notOk(rules.ignores(['deep', 'deeper', 'a.txt'], false));
});

t.test('a pattern with many wildcards takes little time', async (t) => {
  const rules = IgnoreRules.none.with(`${'*a'.repeat(60)}b\n${'**/a/'.repeat(60)}b`, 0);
  t.notOk(rules.ignores(['a'.repeat(250)], false));
  t.notOk(
    rules.ignores(
      Array.from({ length: 500 }, () => 'a'),
      false,
    ),
  );
});
