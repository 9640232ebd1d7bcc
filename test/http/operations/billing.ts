import { publicAccess, userAccess } from './expected-statuses.ts';
import { inOrganization, withBody } from './inputs.ts';
import type { OperationTests } from './operation-test.ts';

/** Operations of billing, which is disabled: permitted callers get 503. */
export const billingTests = {
  'billing-status': {
    expected: userAccess(200, 200, 403, 404),
  },
  'preview-subscription': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ tier: 'starter' }),
  },
  subscribe: {
    expected: userAccess(503, 403, 403, 404),
  },
  downgrade: {
    expected: userAccess(503, 403, 403, 404),
  },
  'cancel-downgrade': {
    expected: userAccess(503, 403, 403, 404),
  },
  'cancel-upgrade': {
    expected: userAccess(503, 403, 403, 404),
  },
  'add-payment-method': {
    expected: userAccess(503, 403, 403, 404),
  },
  'remove-payment-method': {
    expected: userAccess(503, 403, 403, 404),
  },
  'manage-billing-details': {
    expected: userAccess(503, 403, 403, 404),
  },
  pause: {
    expected: userAccess(503, 403, 403, 404),
  },
  'redeem-code': {
    expected: userAccess(503, 403, 403, 404),
  },
  'billing-webhook': {
    expected: publicAccess(503),
    buildInput: withBody(),
  },
} satisfies OperationTests;
