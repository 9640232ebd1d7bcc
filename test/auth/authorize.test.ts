import { authorize, type RequiredAccess } from '../../src/auth/authorize.ts';
import type { Principal } from '../../src/schemas/principal.ts';
import t from '../support/tap.ts';

const ids = { organizationId: 'o', keyId: 'k', zdr: false };
const callers: Readonly<Record<string, Principal | null>> = {
  anonymous: null,
  readOnly: { kind: 'organization', permission: 'read_only', ...ids },
  all: { kind: 'organization', permission: 'all', ...ids },
  administrator: { kind: 'administrator' },
  person: { kind: 'user', userId: 'u', sessionId: 's' },
};

/**
 * Status by required access and caller, 200 if permitted: no credentials, read_only, all, administrator, person.
 * `test/http/every-caller.test.ts` checks which access each operation requires.
 */
const expected: Readonly<Record<RequiredAccess, readonly [number, number, number, number, number]>> = {
  none: [200, 200, 200, 200, 200],
  read: [401, 200, 200, 403, 403],
  write: [401, 403, 200, 403, 403],
  administrator: [401, 403, 403, 200, 403],
  user: [401, 401, 401, 401, 200],
};

t.test('each caller gets the access that its credential gives', async (t) => {
  for (const [access, statuses] of Object.entries(expected)) {
    Object.entries(callers).forEach(([name, principal], i) => {
      const error = authorize(principal, { operation: 'any', access: access as RequiredAccess });
      t.equal(error?.status ?? 200, statuses[i], `${name} calls an operation with access ${access}`);
    });
  }
});

t.test('a 401 has WWW-Authenticate, a 403 names the required access', async (t) => {
  const { anonymous, readOnly, all } = callers;
  const embed = authorize(anonymous ?? null, { operation: 'embed', access: 'read' });
  t.match(embed?.options.headers, { 'www-authenticate': 'Bearer' });
  const addDocument = authorize(readOnly ?? null, { operation: 'add-document', access: 'write' });
  t.match(addDocument?.message, /read-only.*add-document/);
  const addKey = authorize(all ?? null, { operation: 'add-api-key', access: 'administrator' });
  t.match(addKey?.message, /QUARRY_ADMIN_KEY/);
});
