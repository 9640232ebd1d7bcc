import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

/**
 * Security guarantees of the account API and the test of each. Fails if a listed test is renamed or removed.
 */
const checklist: readonly (readonly [guarantee: string, file: string, title: string])[] = [
  [
    'After ten consecutive wrong administrator passwords the next gets 429 with a delay; after the delay the right one works.',
    'accounts/sign-in',
    'the eleventh wrong password in a row is delayed, and after the delay the right one works',
  ],
  [
    'A fresh installation has no default credential.',
    'e2e/first-start',
    'a fresh installation has no guessable credential',
  ],
  [
    'Requesting a sign-in link does not reveal whether an address is known: same reply, same work.',
    'accounts/sign-in',
    'a sign-in link request takes the same work and gets the same reply for every address',
  ],
  [
    'A sign-in link works once, also for twenty concurrent requests.',
    'e2e/accounts',
    'a sign-in link works once: directly in the requesting browser, after confirmation in another',
  ],
  [
    'The store contains no token, key or session in clear text.',
    'http/every-caller',
    'no log line and no stored row contains a secret',
  ],
  [
    'A sign-in link expires after ten minutes.',
    'accounts/sign-in-links',
    'a sign-in link is invalid after it expires, and when its secret is removed',
  ],
  [
    'A newer sign-in link leaves the older one valid, so that other users cannot invalidate it.',
    'accounts/sign-in-links',
    'a newer link leaves the older one valid, so that other users cannot invalidate it',
  ],
  [
    'The same subject at another issuer is another user.',
    'accounts/provider-sign-in',
    'the same subject at another issuer is another user',
  ],
  [
    'A sign-in started in another browser is rejected.',
    'e2e/identity-providers',
    'the callback of an OpenID Connect issuer works once, in the browser that started',
  ],
  [
    'A callback with another issuer, or none where the issuer announces one, is rejected.',
    'accounts/identity-providers',
    'a callback with a missing or wrong issuer, or a wrong state, is rejected',
  ],
  [
    'An ID token with a replayed nonce, another audience, no signature, or a signature made with the public key is rejected.',
    'accounts/identity-providers',
    'an ID token of another sign-in, for another client, or without a valid signature is rejected',
  ],
  [
    'An address that the provider has not verified neither links an account nor accepts an invitation.',
    'accounts/provider-sign-in',
    'an unverified provider address neither links an account nor signs in',
  ],
  [
    'Every sign-in creates a new session.',
    'accounts/user-accounts',
    'signing in creates a user once, and a new session each time',
  ],
  [
    'Sessions end when idle, and at their maximum age.',
    'accounts/user-accounts',
    'a session ends when idle, and at its maximum age regardless of use',
  ],
  [
    'An ended session is rejected immediately on every connection.',
    'e2e/access-removal',
    'an ended session is rejected on every connection, also during requests',
  ],
  [
    'Cookies are HttpOnly, SameSite=Lax, and over https Secure with the prefix __Host-.',
    'e2e/sign-in-guards',
    'over https cookies are bound to this host and unavailable to scripts and other sites',
  ],
  [
    'Requests that another site makes a browser send change nothing: as a form, as text, or as a GET.',
    'e2e/sign-in-guards',
    'another site with the cookie of a user changes nothing: as a form, as text, or as a GET',
  ],
  [
    'Thirty kinds of redirects to another site after signing in are rejected.',
    'e2e/sign-in-guards',
    'sign-in never redirects to another site',
  ],
  [
    'Every operation rejects every kind of caller without permission.',
    'http/every-caller',
    'each caller gets the expected status and learns nothing about other tenants',
  ],
  [
    'Resources of another organization get the same reply as nonexistent ones, byte for byte.',
    'http/every-caller',
    'resources of another organization return the same reply as missing ones',
  ],
  [
    'A lower role, a removal and a deleted key apply to the next request.',
    'e2e/access-removal',
    'a lower role, a removal and a deleted key take effect immediately',
  ],
  [
    'Only an unmodified, unexpired invitation code of this server is accepted; a session token is not.',
    'accounts/memberships',
    'only an unmodified, unexpired invitation code of this server is accepted',
  ],
  [
    'An organization keeps an owner through a thousand concurrent changes.',
    'accounts/memberships',
    'an organization keeps an owner through 1,000 concurrent changes',
  ],
  [
    'Every page forbids scripts, frames and referrers.',
    'e2e/sign-in-guards',
    'every page forbids scripts, frames and referrers',
  ],
  [
    'Successful, failed and rejected sign-ins are in the audit log with actor, address and time; no log contains a secret.',
    'http/every-caller',
    'successful, failed and denied sign-ins are in the audit log',
  ],
];

/** Matches a title after `test(`; titles of tests generated in a loop start with a placeholder. */
const declaration = /\btest\(\s*(['`])(?:\$\{\w+\}: )?(.+?)\1,/g;

t.test('each of the 25 guarantees has its own test', async (t) => {
  t.equal(checklist.length, 25);
  t.equal(new Set(checklist.map(([, file, title]) => `${file}: ${title}`)).size, 25);
  for (const [guarantee, file, title] of checklist) {
    const source = readFileSync(join(projectRoot, 'test', `${file}.test.ts`), 'utf8');
    const titles = [...source.matchAll(declaration)].map(([, , declared]) => declared);
    t.equal(
      titles.filter((each) => each === title).length,
      1,
      `${guarantee} (test/${file}.test.ts: ${title})`,
    );
  }
});
