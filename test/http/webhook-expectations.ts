import { writeAccess } from './expected-statuses.ts';
import type { OperationExpectation } from './operation-expectation.ts';
import { withBody } from './operation-inputs.ts';

const missingId = '0b8f6f7e-6c1d-4a55-9a3e-3f0d8c1b2a47';

/** Expected statuses of the operations of webhooks, on a server that allows no host. */
export const webhookExpectations: Readonly<Record<string, OperationExpectation>> = {
  'add-webhook': {
    expected: { ...writeAccess(403, 403), restricted: 403, filtered: 403 },
    buildInput: withBody({ url: 'https://example.com/quarry' }),
  },
  'list-webhooks': {
    expected: { ...writeAccess(200, 200), restricted: 403, filtered: 403 },
    buildInput: withBody(),
  },
  'update-webhook': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: () => ({ body: { webhook_id: missingId } }),
  },
  'delete-webhook': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: () => ({ body: { webhook_id: missingId } }),
  },
  'rotate-webhook-secret': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: () => ({ body: { webhook_id: missingId } }),
  },
  'test-webhook': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: () => ({ body: { webhook_id: missingId } }),
  },
  'list-deliveries': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: () => ({ body: { webhook_id: missingId } }),
  },
  'replay-webhook': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: () => ({ body: { webhook_id: missingId, sequence: 1 } }),
  },
};
