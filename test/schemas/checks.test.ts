import { limits } from '../../src/core/limits.ts';
import * as checks from '../../src/schemas/checks.ts';
import t from '../support/tap.ts';

const refused = { name: 'AppError', code: 'bad_request' };

t.test('base64 decodes to the bytes it was made from, for every length and value', (t) => {
  for (let length = 0; length < 70; length++) {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 37 + length) % 256));
    t.same(checks.decodeBase64(bytes.toString('base64')), bytes, `${length} bytes`);
  }
  t.end();
});

t.test('anything but strict base64 is rejected', (t) => {
  for (const text of [
    'Q',
    'QQ',
    'QQ=',
    'Q===',
    '====',
    '=',
    'QR==',
    'QUJ=',
    'QU-_',
    'QUJD\n',
    'QUJD QUJD',
    'QQ==QUJD',
    'QUJD====',
    'ŁUJD',
    'QUJDé===',
    'data:;base64,QQ==',
  ]) {
    t.throws(() => checks.decodeBase64(text), refused, JSON.stringify(text));
  }
  t.end();
});

t.test('lengths are counted in bytes for names and in characters for queries', (t) => {
  t.doesNotThrow(() => checks.checkPath('ü'.repeat(2_048)));
  t.throws(() => checks.checkPath('ü'.repeat(2_049)), refused);
  t.doesNotThrow(() => checks.checkCollectionName('😀'.repeat(256)));
  t.throws(() => checks.checkCollectionName(`${'😀'.repeat(256)}a`), refused);
  t.doesNotThrow(() => checks.checkQuery('😀'.repeat(limits.queryCodePointsMax)));
  t.throws(() => checks.checkQuery(`${'😀'.repeat(limits.queryCodePointsMax)}a`), refused);
  t.doesNotThrow(() => checks.checkQuery(''));
  t.end();
});

t.test('a name may contain any UTF-8 except NUL', (t) => {
  for (const name of [' ', '../..', 'a/b\\c', '\n', '😀', '\u202e', '%00', '__proto__'])
    t.doesNotThrow(() => checks.checkPath(name), name);
  for (const name of ['', '\0', 'a\0', '\ud83d', 'a\ude00b', '\ude00\ud83d'])
    t.throws(() => checks.checkPath(name), refused, JSON.stringify(name));
  t.end();
});

t.test('metadata is measured in bytes of compact JSON', (t) => {
  const metadata = { a: 'ü', 'list:b': ['"', '\\'] };
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  t.doesNotThrow(() => checks.checkMetadata(metadata, bytes));
  t.throws(() => checks.checkMetadata(metadata, bytes - 1), { message: new RegExp(`${bytes} bytes`) });
  t.throws(
    () => checks.checkMetadata({ ['x'.repeat(limits.metadataNameBytesMax + 1)]: '' }, 65_535),
    refused,
  );
  t.end();
});

t.test('ranges are inclusive', (t) => {
  for (const k of [1, 128]) t.doesNotThrow(() => checks.checkResultCount(k, 128));
  for (const k of [0, -1, 129, 1e300]) t.throws(() => checks.checkResultCount(k, 128), refused, String(k));
  for (const count of [1, 8, 16, 32, 64]) t.doesNotThrow(() => checks.checkShardCount(count));
  for (const count of [0, 2, 63, 65, -1])
    t.throws(() => checks.checkShardCount(count), refused, String(count));
  for (const n of [1, 1e9]) t.doesNotThrow(() => checks.checkTopN(n));
  t.throws(() => checks.checkTopN(0), refused);
  t.doesNotThrow(() => checks.checkUsageTimes(5, 5));
  for (const [start, end] of [
    [6, 5],
    [-1, 5],
    [0, 1e15],
  ] as const)
    t.throws(() => checks.checkUsageTimes(start, end), refused);
  t.end();
});
