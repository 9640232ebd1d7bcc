import { findWeakness } from '../../src/accounts/password-strength.ts';
import t from '../support/tap.ts';

t.test('a short, common or patterned password is rejected with a reason', async (t) => {
  for (const weak of [
    'short',
    'password1234',
    'passwordpassword',
    'qwertyuiop123',
    'aaaaaaaaaaaaaaaa',
    'administrator2026',
    'abcdefghijklmnop',
    '123456789012345',
  ])
    t.type(findWeakness(weak), 'string', weak);
  t.match(findWeakness('short'), /12 or more/);
  t.match(
    findWeakness('qwertyuiop123'),
    /commonly used.*[^.]$/,
    'the caller adds the period of the sentence',
  );
});

t.test(
  'long phrases and random characters are accepted, and a huge password is checked quickly',
  async (t) => {
    for (const good of [
      'correct horse battery staple',
      'k3!vR9#qPz7$mW2x',
      'Überraschung im Nebel, 7 Fähren',
    ])
      t.equal(findWeakness(good), null, good);
    t.not(findWeakness('vK7 '.repeat(25_000)), undefined);
  },
);
