import { publicAccess, userAccess } from './expected-statuses.ts';
import type { OperationExpectation } from './operation-expectation.ts';
import { formType, inOrganization, withBody } from './operation-inputs.ts';

/** Statuses of the operations on payments and marketplaces. Billing is disabled: permitted callers get 503. */
export const billingExpectations: Readonly<Record<string, OperationExpectation>> = {
  'billing-status': { expected: userAccess(200, 200, 403, 404), buildInput: inOrganization() },
  'preview-subscription': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ tier: 'starter' }),
  },
  subscribe: { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization({ tier: 'starter' }) },
  downgrade: { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization({ tier: 'free' }) },
  'cancel-upgrade': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'cancel-downgrade': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'add-payment-method': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'remove-payment-method': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ payment_method_id: 'pm_1' }),
  },
  'manage-billing-details': { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  pause: { expected: userAccess(503, 403, 403, 404), buildInput: inOrganization() },
  'redeem-code': {
    expected: userAccess(503, 403, 403, 404),
    buildInput: inOrganization({ code: 'WELCOME' }),
  },
  'billing-webhook': { expected: publicAccess(503), buildInput: withBody() },
  'begin-aws-marketplace': {
    expected: publicAccess(503),
    buildInput: () => ({ type: formType, body: 'x-amzn-marketplace-token=x' }),
  },
  'begin-vercel-marketplace': {
    expected: publicAccess(503),
    buildInput: () => ({ query: 'code=x&next=https%3A%2F%2Fvercel.com%2F' }),
  },
  'aws-marketplace-event': { expected: publicAccess(503), buildInput: withBody() },
  'vercel-marketplace-event': { expected: publicAccess(503), buildInput: withBody() },
  'get-marketplace-sign-up': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: withBody({ sign_up: 'x'.repeat(43) }),
  },
  'bind-marketplace': {
    expected: userAccess(404, 403, 403, 404),
    buildInput: inOrganization({ sign_up: 'x'.repeat(43) }),
  },
};
