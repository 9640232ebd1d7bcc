import { createHash } from 'node:crypto';
import {
  generateKey,
  hashKey,
  isIssuedKey,
  maskKey,
  operatorKeyPattern,
} from '../../src/accounts/key-format.ts';
import { systemRandom } from '../../src/core/ids.ts';
import t from '../support/tap.ts';

const zeros = { uuid: () => '', bytes: (count: number) => new Uint8Array(count) };

t.test('an issued key consists of ze_ and 36 base62 characters that end with a checksum', async (t) => {
  // CRC-32 of thirty "0" is 0x77e5db82 = 2011552642; in base62 that is 2C8GjS.
  t.equal(generateKey(zeros), `ze_${'0'.repeat(30)}2C8GjS`);
  for (let i = 0; i < 200; i += 1) {
    const key = generateKey(systemRandom);
    t.match(key, /^ze_[0-9A-Za-z]{36}$/);
    t.ok(isIssuedKey(key));
  }
});

t.test('keys do not repeat and use all 62 characters about equally', async (t) => {
  const keys = Array.from({ length: 2_000 }, () => generateKey(systemRandom));
  t.equal(new Set(keys).size, keys.length);
  const counts = new Map<string, number>();
  for (const key of keys) for (const c of key.slice(3, 33)) counts.set(c, (counts.get(c) ?? 0) + 1);
  t.equal(counts.size, 62);
  const expected = (2_000 * 30) / 62;
  for (const [c, count] of counts) t.ok(count > expected * 0.75 && count < expected * 1.25, `${c}: ${count}`);
});

t.test('bytes that would bias the distribution of characters are not used', async (t) => {
  let call = 0;
  const random = {
    uuid: () => '',
    bytes: (count: number) => new Uint8Array(count).fill(call++ === 0 ? 255 : 1),
  };
  t.equal(generateKey(random).slice(3, 33), '1'.repeat(30));
});

t.test('every single wrong, missing, added or swapped character is detected', async (t) => {
  const key = generateKey(systemRandom);
  for (let i = 0; i < key.length; i += 1) {
    const other = key[i] === 'a' ? 'b' : 'a';
    t.notOk(isIssuedKey(key.slice(0, i) + other + key.slice(i + 1)), `character ${i} replaced`);
    t.notOk(isIssuedKey(key.slice(0, i) + key.slice(i + 1)), `character ${i} missing`);
    const next = key[i + 1];
    if (next === undefined || next === key[i]) continue;
    t.notOk(isIssuedKey(key.slice(0, i) + next + key[i] + key.slice(i + 2)), `character ${i} swapped`);
  }
  for (const wrong of [
    '',
    'ze_',
    `${key}a`,
    ` ${key}`,
    `${key}\n`,
    key.toLowerCase().replace('ze_', 'ZE_'),
  ]) {
    t.notOk(isIssuedKey(wrong), JSON.stringify(wrong));
  }
});

t.test('a digest is the SHA-256 of the key', async (t) => {
  t.equal(hashKey('ze_x'), createHash('sha256').update('ze_x').digest('hex'));
});

t.test('a masked key shows four characters at each end, a key chosen by the operator only two', async (t) => {
  const key = generateKey(systemRandom);
  t.equal(maskKey(key), `ze_${key.slice(3, 7)}…${key.slice(-4)}`);
  t.equal(maskKey('my-old-secret-key'), 'my…ey');
});

t.test('the operator can choose 16 to 256 printable characters without spaces', async (t) => {
  for (const good of ['x'.repeat(16), 'x'.repeat(256), '!~"§'.replace('§', '#').repeat(4)]) {
    t.match(good, operatorKeyPattern);
  }
  for (const bad of [
    'x'.repeat(15),
    'x'.repeat(257),
    `${'x'.repeat(16)} y`,
    'ü'.repeat(16),
    `${'x'.repeat(16)}\n`,
  ]) {
    t.notMatch(bad, operatorKeyPattern);
  }
});
