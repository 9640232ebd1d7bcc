import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from '../../src/core/root.ts';

/**
 * Security guarantees of the account API and the test of each. Fails if a listed test is renamed or removed.
 */
const checklist: readonly (readonly [promise: string, file: string, title: string])[] = [
  [
    'After ten wrong administrator passwords in a row the next gets 429 and a time to wait; then the right one works.',
    'accounts/sign-in',
    'the eleventh wrong password in a row waits, and after the wait the right one works',
  ],
  [
    'A fresh installation has no default credential.',
    'e2e/sign-in-guards',
    'a fresh installation has no credential that anybody could guess',
  ],
  [
    'Asking for a sign-in link shows nobody whether an address is known: same reply, same work.',
    'accounts/sign-in',
    'a mail link costs the same work and says the same, whoever the address belongs to',
  ],
  [
    'A sign-in link works once, also for twenty who follow it at the same moment.',
    'e2e/accounts',
    'a link works once, in the browser that asked without a question, in another after a button',
  ],
  [
    'The store holds no token, key or session in clear.',
    'http/every-caller',
    'after all of that no line of the log and no row of the store holds a secret',
  ],
  [
    'A sign-in link is dead after ten minutes.',
    'accounts/user-accounts',
    'a link is dead after its time, and when it is forgotten',
  ],
  [
    'A newer sign-in link leaves the older one valid, so that a stranger cannot end it.',
    'accounts/user-accounts',
    'a newer link leaves the older one valid, so that a stranger cannot end it',
  ],
  [
    'The same subject at another issuer is another person.',
    'accounts/sign-in',
    'the same subject at another issuer is another person',
  ],
  [
    'Whoever brings back the sign-in of another browser is refused.',
    'e2e/identity-providers',
    'people sign in with an issuer of OpenID Connect, once for each beginning, in the browser that began',
  ],
  [
    'An answer that names another issuer, or none where the issuer promises to name itself, is refused.',
    'accounts/identity-providers',
    'an answer that names no or another issuer, or another state, is refused',
  ],
  [
    'An identity token with a replayed nonce, another audience, no signature, or one made with the public key is refused.',
    'accounts/identity-providers',
    'a token of another sign-in, for another client, or that nobody signed is refused',
  ],
  [
    'An address that the provider has not verified links no account and accepts no invitation.',
    'accounts/sign-in',
    'an address that the provider did not verify neither links nor signs in',
  ],
  [
    'Every sign-in makes a new session.',
    'accounts/user-accounts',
    'a sign-in makes a user once, and a new session each time',
  ],
  [
    'Sessions end when idle, and at their end in any case.',
    'accounts/user-accounts',
    'a session ends when nobody uses it, and at its end however much it is used',
  ],
  [
    'A session that was ended is refused at once, in every connection.',
    'e2e/sign-in-guards',
    'a session that ends is refused in every connection, in the middle of everything',
  ],
  [
    'Cookies are HttpOnly, SameSite=Lax, and over https Secure with the prefix __Host-.',
    'e2e/sign-in-guards',
    'over https cookies are bound to this host, closed to scripts and to other sites',
  ],
  [
    'What another site makes a browser send changes nothing, as a form, as text, or as a GET.',
    'e2e/sign-in-guards',
    'with somebody’s cookie another site changes nothing: as a form, as text, or as a GET',
  ],
  [
    'Thirty ways to lead somebody to another site after signing in are refused.',
    'e2e/sign-in-guards',
    'nobody is led to another site after signing in',
  ],
  [
    'Every operation refuses every kind of caller that may not call it.',
    'http/every-caller',
    'everybody gets what they may, and nobody learns of another',
  ],
  [
    'What another organisation has answers as what does not exist, word for word.',
    'http/every-caller',
    'what another organisation has answers as what does not exist, word for word',
  ],
  [
    'A lower role, a removal and a deleted key are felt by the next request.',
    'e2e/sign-in-guards',
    'a lower role, a removal and a deleted key are felt in the middle of everything',
  ],
  [
    'Only an invitation that was issued here, for this purpose, in time and untouched is one; a session is none.',
    'accounts/user-accounts',
    'only a code that was issued here, is in time and untouched says anything',
  ],
  [
    'An organisation keeps an owner through a thousand changes at once.',
    'accounts/user-accounts',
    'an organisation keeps an owner, whatever 1,000 people do to each other at the same time',
  ],
  [
    'Every page forbids scripts, frames and referrers.',
    'e2e/sign-in-guards',
    'every page for people is closed to scripts, frames and curious neighbours',
  ],
  [
    'Sign-ins, failed ones and refusals are in the audit log, with who, where and when; no log holds a secret.',
    'http/every-caller',
    'who signed in, who failed to and who was refused stands in the audit log',
  ],
];

/** Matches a title after `test(`; titles of tests generated in a loop start with a placeholder. */
const declaration = /\btest\(\s*(['`])(?:\$\{\w+\}: )?(.+?)\1,/g;

t.test('each of the 25 promises has a test of its own', async (t) => {
  t.equal(checklist.length, 25);
  t.equal(new Set(checklist.map(([, file, title]) => `${file}: ${title}`)).size, 25);
  for (const [promise, file, title] of checklist) {
    const source = readFileSync(join(projectRoot, 'test', `${file}.test.ts`), 'utf8');
    const titles = [...source.matchAll(declaration)].map(([, , declared]) => declared);
    t.equal(titles.filter((each) => each === title).length, 1, `${promise} (test/${file}.test.ts: ${title})`);
  }
});
