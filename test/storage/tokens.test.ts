import { randomBytes, randomUUID } from 'node:crypto';
import { type FileToken, issueToken, readToken } from '../../src/storage/tokens.ts';
import t from '../support/tap.ts';

const secret = randomBytes(32);
const documentId = randomUUID();
const tokens: FileToken[] = [
  { kind: 'file', documentId },
  { kind: 'page', documentId, page: 0 },
  { kind: 'page', documentId, page: 4_999 },
];

for (const token of tokens) {
  t.test(
    `a ${JSON.stringify(token)} token is read back and cannot be created or changed without the secret`,
    async (t) => {
      const issued = issueToken(secret, token);
      t.match(issued, /^[A-Za-z0-9_-]+$/);
      t.same(readToken([secret], issued), token);
      t.equal(readToken([randomBytes(32)], issued), null);
      t.same(readToken([randomBytes(32), secret], issued), token, 'an earlier secret still opens it');
      for (let index = 0; index < issued.length; index += 1) {
        const other = issued[index] === 'A' ? 'B' : 'A';
        const forged = issued.slice(0, index) + other + issued.slice(index + 1);
        if (readToken([secret], forged) !== null) t.fail(`changed at ${index} it is still valid`);
      }
    },
  );
}

t.test('any other string is not a token', async (t) => {
  const issued = issueToken(secret, tokens[0] as FileToken);
  for (const text of [
    '',
    'x',
    '..',
    `${issued}=`,
    ` ${issued}`,
    issued.slice(1),
    `${issued}AAAA`,
    '\0',
    '😀',
  ]) {
    t.equal(readToken([secret], text), null, JSON.stringify(text));
  }
});
