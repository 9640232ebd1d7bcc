import { publicAccess, sameOriginAccess } from './expected-statuses.ts';
import { formType, withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of sign-in. */
export const signInTests = {
  'get-sign-in-options': {
    expected: publicAccess(200),
    buildInput: () => ({}),
  },
  'send-magic-link': {
    expected: sameOriginAccess(200),
    buildInput: (_names, fresh) => ({ body: { email: `${fresh}@example.com` } }),
  },
  'verify-magic-link': {
    expected: publicAccess(400),
    buildInput: () => ({ query: `token=${'x'.repeat(43)}` }),
  },
  'confirm-magic-link': {
    expected: publicAccess(400),
    buildInput: () => ({ type: formType, body: `token=${'x'.repeat(43)}&confirmation=x` }),
  },
  'begin-provider-login': {
    expected: publicAccess(503),
    buildInput: () => ({ parts: { provider: 'google' } }),
  },
  'finish-provider-login': {
    expected: publicAccess(503),
    buildInput: () => ({ parts: { provider: 'google' }, query: 'state=x&code=x' }),
  },
  'password-sign-in': {
    expected: sameOriginAccess(401),
    buildInput: (_names, fresh) => ({ body: { email: `${fresh}@example.com`, password: 'x' } }),
  },
  'password-join': {
    expected: sameOriginAccess(404),
    buildInput: withBody({ invite_code: 'x', password: 'x' }),
  },
  'password-reset': {
    expected: sameOriginAccess(400),
    buildInput: withBody({ token: 'x', password: 'x' }),
  },
  'login-link': {
    expected: sameOriginAccess(401),
    buildInput: withBody({ proof: 'x'.repeat(43) }),
  },
  'finish-second-factor': {
    expected: sameOriginAccess(400),
  },
  logout: {
    expected: sameOriginAccess(200),
    sample: { order: 10 },
    endsSession: true,
  },
  'admin-login': {
    expected: sameOriginAccess(200),
    buildInput: (_names, _fresh, { password }) => ({ body: { password } }),
  },
  'admin-logout': {
    expected: sameOriginAccess(200),
    endsSession: true,
  },
} satisfies OperationTests;
