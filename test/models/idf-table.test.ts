import { encodeIdfTable, hashStem, IdfTable } from '../../src/models/idf-table.ts';
import { ModelVocabulary } from '../../src/models/model-vocabulary.ts';
import t from '../support/tap.ts';

t.test('IDF values are accurate to their step, unlisted words count as rare', async (t) => {
  const listedWords = new Map([
    ['the', 0.1],
    ['steam', 6.5],
    ['watt', 9.25],
    ['日', 12],
  ]);
  const idfOf = new IdfTable(encodeIdfTable(listedWords, 13.5));
  for (const [stem, value] of listedWords) t.ok(Math.abs(idfOf.get(stem) - value) <= 1 / 32 + 1e-9, stem);
  for (const stem of ['', 'zyx', 'th']) t.equal(idfOf.get(stem), 13.5);
});

t.test('an empty table and an unaligned table can be read', async (t) => {
  t.equal(new IdfTable(encodeIdfTable(new Map(), 2)).get('x'), 2);
  const file = encodeIdfTable(new Map([['x', 4]]), 9);
  const moved = new Uint8Array(file.length + 1);
  moved.set(file, 1);
  t.equal(new IdfTable(moved.subarray(1)).get('x'), 4);
});

t.test('a truncated table is rejected', async (t) => {
  const file = encodeIdfTable(new Map([['x', 4]]), 9);
  t.throws(() => new IdfTable(file.slice(0, -1)), /complete/);
});

t.test('the hash is FNV-1a, which never changes', async (t) => {
  t.equal(hashStem(''), 0x811c9dc5);
  t.not(hashStem('ab'), hashStem('ba'));
});

t.test('words of the training text are known in every form, misspellings are not', async (t) => {
  const words = ModelVocabulary.load();
  for (const word of ['stations', 'asthmatics', 'herring', 'Compression']) t.ok(words.hasWord(word), word);
  for (const word of ['herrng', 'hydrslazine', 'comprsesion', 'самолет']) t.notOk(words.hasWord(word), word);
});

t.test('queries in unknown languages are distinguished from those in known languages', async (t) => {
  const words = ModelVocabulary.load();
  for (const text of ['How long do refunds take?', 'herring', 'what is 42', '', '1984'])
    t.equal(words.computeFamiliarity(text), 1, text);
  for (const text of [
    'Какова высота Эйфелевой башни?',
    'ما هو ارتفاع برج إيفل؟',
    'एफिल टॉवर कितना ऊँचा है?',
    'หอไอเฟลสูงเท่าไร',
    'Wieviele Fahrgäste befördert die Straßenbahn jährlich?',
  ])
    t.ok(words.computeFamiliarity(text) < 0.2, text);
});

t.test('a query as long as a text has little weight, even if its words are known', async (t) => {
  const words = ModelVocabulary.load();
  const steam = (count: number) => 'the steam engine of the railway '.repeat(Math.ceil(count / 3));
  t.equal(words.computeFamiliarity(steam(18)), 1);
  t.equal(words.computeFamiliarity(steam(30)), 0.5);
  t.equal(words.computeFamiliarity(steam(60)), 0);
});
