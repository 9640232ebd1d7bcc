import { expandWord } from '../../src/text/words.ts';
import t from '../support/tap.ts';

const texts = (surface: string) => expandWord(surface).map((piece) => piece.text);

const cases: readonly (readonly [string, readonly string[]])[] = [
  ['House', ['house']],
  ['PDFs', ['pdfs']],
  ['2026', ['2026']],
  ['3.14', ['3.14']],
  ['foo-bar_1.2', ['foobar1.2', 'foo', 'bar', '1', '2', '1.2']],
  ['getUserName', ['getusername', 'get', 'user', 'name']],
  ['get_user_name', ['getusername', 'get', 'user', 'name']],
  ['XMLHttpRequest', ['xmlhttprequest', 'xml', 'http', 'request']],
  ['PX-4500B', ['px4500b', 'px', '4500b', '4500']],
  ['PX4500B', ['px4500b', 'px', '4500']],
  ['20.51.4', ['20.51.4', '20', '51', '4', '20.51']],
  ['1,234,567', ['1234567', '1', '234', '567']],
  ['2024-01-15', ['2024.01.15', '2024', '01', '15']],
  ['jane.doe@example.com', ['janedoe@examplecom', 'jane', 'doe', 'example', 'com']],
  ['U.S.A', ['usa']],
  ['AT&T', ['at&t', 'at', 't']],
  ['C++', ['c++', 'c']],
  ['C#', ['c#', 'c']],
  ["John's", ['john']],
  ['l’homme', ['homme']],
  ["rock'n'roll", ['rock', 'roll']],
  ['soft\u00adhyphen', ['softhyphen']],
  ['e-mail', ['email', 'e', 'mail']],
];

for (const [surface, expected] of cases) {
  t.test(`"${surface}" is findable whole and by part`, async (t) => {
    t.same(texts(surface), expected);
  });
}

t.test('a hash is not split, because its parts have no meaning', async (t) => {
  t.same(texts('a3f9c2e1b4d5a6'), ['a3f9c2e1b4d5a6']);
});

t.test('pieces are unique, never empty and hold no space', async (t) => {
  for (const [surface] of cases) {
    const pieces = texts(surface);
    t.equal(new Set(pieces).size, pieces.length);
    t.ok(pieces.every((piece) => piece !== '' && !piece.includes(' ')));
  }
});
