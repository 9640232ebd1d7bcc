import { randomUUID } from 'node:crypto';
import type { CancellationToken } from '../../src/core/async/cancellation-token.ts';
import type { Webhook } from '../../src/storage/webhooks.ts';

export const cancellation: CancellationToken = {
  isCanceled: false,
  signal: new AbortController().signal,
  onCanceled: () => {},
};

export function webhookTo(url: string): Webhook {
  return {
    webhookId: randomUUID(),
    organizationId: randomUUID(),
    url,
    description: '',
    types: null,
    collections: null,
    secrets: [],
    status: 'active',
    failure: null,
    createdAt: 0,
  };
}
