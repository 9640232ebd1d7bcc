import { sameOriginAccess, userAccess } from './expected-statuses.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of passkeys. The server of the tests has an IP address, at which browsers do not support them. */
export const passkeyTests = {
  'begin-passkey-sign-in': {
    expected: sameOriginAccess(503),
  },
  'passkey-sign-in': {
    expected: sameOriginAccess(503),
  },
  'begin-passkey-join': {
    expected: sameOriginAccess(503),
  },
  'passkey-join': {
    expected: sameOriginAccess(503),
  },
  'list-passkeys': {
    expected: userAccess(200, 200, 200, 200),
  },
  'begin-passkey': {
    expected: userAccess(503, 503, 503, 503),
  },
  'add-passkey': {
    expected: userAccess(400, 400, 400, 400),
  },
  'update-passkey': {
    expected: userAccess(404, 404, 404, 404),
  },
  'delete-passkey': {
    expected: userAccess(404, 404, 404, 404),
  },
} satisfies OperationTests;
