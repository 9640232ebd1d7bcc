import { hashTerm, sipHash24, toBigInt } from '../../src/text/term-hash.ts';
import t from '../support/tap.ts';

/** Published with the reference implementation: key 00..0f, message 00, 01, 02, ... of the given length. */
const referenceVectors: readonly (readonly [number, bigint])[] = [
  [0, 0x726fdb47dd0e0e31n],
  [1, 0x74f839c593dc67fdn],
  [7, 0xab0200f58b01d137n],
  [8, 0x93f5f5799a932462n],
  [15, 0xa129ca6149be45e5n],
];

t.test('the hash equals the published test vectors of SipHash-2-4', async (t) => {
  const key = Uint8Array.from({ length: 16 }, (_, index) => index);
  const message = Uint8Array.from({ length: 64 }, (_, index) => index);
  for (const [length, expected] of referenceVectors) {
    t.equal(toBigInt(sipHash24(message, length, key)), expected, `length ${length}`);
  }
});

t.test('term hashes never change: stored postings depend on them', async (t) => {
  const frozen: Readonly<Record<string, bigint>> = {
    '': 0x7caf11ac0877d9edn,
    house: 0x214f8d67bd5576f0n,
    日本: 0x51862ea4f0ad44d0n,
    'foobar1.2': 0xab24f86166447196n,
  };
  for (const [term, hash] of Object.entries(frozen)) t.equal(toBigInt(hashTerm(term)), hash, term);
});

t.test('the hash of a long term covers its whole text', async (t) => {
  const long = 'é'.repeat(5_000);
  t.not(toBigInt(hashTerm(`${long}a`)), toBigInt(hashTerm(`${long}b`)));
});
