import {
  hash,
  type KeyField,
  prefixRange,
  text,
  textPrefix,
  u8,
  u32,
  u53,
  uuid,
} from '../../src/storage/keys.ts';
import { Table } from '../../src/storage/table.ts';
import t from '../support/tap.ts';
import { createTestRandom, type TestRandom } from './test-random.ts';

const random = createTestRandom();

function randomText({ below }: TestRandom): string {
  const letters = ['a', 'b', '\0', '\u0001', '\u00ff', 'é', '中', '😀', '\uffff', '/'];
  return Array.from({ length: below(6) }, () => letters[below(letters.length)]).join('');
}

const hex = (count: number) => Array.from({ length: count }, () => random.below(16).toString(16)).join('');

function randomUuid(): string {
  return [hex(8), hex(4), hex(4), hex(4), hex(12)].join('-');
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const byNumber = (a: number, b: number) => a - b;
const byUtf8 = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function fieldTest<T>(
  name: string,
  field: KeyField<T>,
  { draw, compare }: { draw: () => T; compare: (a: T, b: T) => number },
): void {
  t.test(`${name} keys sort like their values and decode to them (seed ${random.seed})`, async (t) => {
    for (let round = 0; round < 2000; round += 1) {
      const [a, b] = [draw(), draw()];
      const order = Math.sign(Buffer.compare(field.encode(a), field.encode(b)));
      if (order !== Math.sign(compare(a, b)))
        t.fail(`${JSON.stringify(a)} and ${JSON.stringify(b)} sort wrongly`);
      const [value, next] = field.decode(Buffer.concat([Buffer.of(9), field.encode(a)]), 1);
      if (value !== a || next !== 1 + field.encode(a).byteLength)
        t.fail(`${JSON.stringify(a)} does not decode`);
    }
    t.pass('all rounds');
  });
}

const bits = (count: number) => Math.floor(random.below(2 ** count) / 2 ** random.below(count));
fieldTest('u8', u8, { draw: () => random.below(256), compare: byNumber });
fieldTest('u32', u32, { draw: () => bits(32), compare: byNumber });
fieldTest('u53', u53, { draw: () => bits(53), compare: byNumber });
fieldTest('uuid', uuid, { draw: randomUuid, compare: byText });
fieldTest('hash', hash, { draw: () => hex(64), compare: byText });
fieldTest('text', text, { draw: () => randomText(random), compare: byUtf8 });

t.test(
  `whole keys sort field by field, and a text never runs into the next field (seed ${random.seed})`,
  async (t) => {
    const table = new Table<readonly [string, number, string], null>(0x7f, [text, u32, text]);
    const draw = () => [randomText(random), random.below(3), randomText(random)] as const;
    for (let round = 0; round < 2000; round += 1) {
      const [a, b] = [draw(), draw()];
      const expected = byUtf8(a[0], b[0]) || a[1] - b[1] || byUtf8(a[2], b[2]);
      if (Math.sign(Buffer.compare(table.keyOf(...a), table.keyOf(...b))) !== Math.sign(expected)) {
        t.fail(`${JSON.stringify(a)} and ${JSON.stringify(b)} sort wrongly`);
      }
      if (JSON.stringify(table.decodeKey(table.keyOf(...a))) !== JSON.stringify(a))
        t.fail(`${JSON.stringify(a)}`);
    }
    t.pass('all rounds');
  },
);

t.test(`a text's prefix covers exactly the texts that start with it (seed ${random.seed})`, async (t) => {
  for (let round = 0; round < 2000; round += 1) {
    const [whole, start] = [randomText(random), randomText(random)];
    const { gte, lt } = prefixRange(Buffer.concat([Buffer.of(1), textPrefix(start)]));
    const key = Buffer.concat([Buffer.of(1), text.encode(whole)]);
    const inside = Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0;
    const expected = Buffer.from(whole).subarray(0, Buffer.byteLength(start)).equals(Buffer.from(start));
    if (inside !== expected) t.fail(`${JSON.stringify(whole)} against the prefix ${JSON.stringify(start)}`);
  }
  t.pass('all rounds');
});

t.test('values outside the range of a field are rejected', async (t) => {
  t.throws(() => u32.encode(-1), { name: 'AssertionError' });
  t.throws(() => u32.encode(2 ** 32), { name: 'AssertionError' });
  t.throws(() => u8.encode(256), { name: 'AssertionError' });
  t.throws(() => u53.encode(2 ** 53), { name: 'AssertionError' });
  t.throws(() => u53.encode(1.5), { name: 'AssertionError' });
  t.throws(() => uuid.encode('x'), { name: 'AssertionError' });
  t.throws(() => hash.encode('00'), { name: 'AssertionError' });
});

t.test('the encoded bytes equal the example of the documentation', async (t) => {
  const documents = new Table<readonly [string, string], null>(0x30, [uuid, text]);
  const key = documents.keyOf('00112233-4455-6677-8899-aabbccddeeff', 'a/é');
  t.equal(Buffer.from(key).toString('hex'), '3000112233445566778899aabbccddeeff612fc3a90001');
  t.equal(Buffer.from(u53.encode(2 ** 32 + 5)).toString('hex'), '0000000100000005');
});
