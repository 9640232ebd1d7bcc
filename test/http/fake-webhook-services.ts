import type { Services } from '../../src/http/services.ts';
import { fakeSources } from './fake-source-services.ts';

const webhook_id = '0b8f6f7e-6c1d-4a55-9a3e-3f0d8c1b2a47';

const fakeWebhooks: Services['webhooks'] = {
  addWebhook: async () => ({ webhook_id, secret: 'whsec_AAAA' }),
  listWebhooks: async () => ({ webhooks: [] }),
  updateWebhook: async () => ({}),
  deleteWebhook: async () => ({}),
  rotateSecret: async () => ({ webhook_id, secret: 'whsec_AAAA' }),
  testWebhook: async () => ({ delivered: true, status: 200, error: null, milliseconds: 1 }),
  listDeliveries: async () => ({ deliveries: [] }),
  replayWebhook: async () => ({}),
  deleteAllOfOrganization: async () => {},
};

/** Fake services of sources and webhooks. */
export const fakeConnections = { sources: fakeSources, webhooks: fakeWebhooks };
