import type * as webhooks from '../../../src/schemas/webhooks.ts';
import type { DefaultResponse } from '../../../src/schemas/wire.ts';
import { callOperation as post } from './operation-call.ts';

/** Operations of webhooks, in the selected organization. */

export type WebhookFields = webhooks.AddWebhookRequest;
export type { WebhookInfo } from '../../../src/schemas/webhooks.ts';
export type DeliveryInfo = webhooks.ListDeliveriesResponse['deliveries'][number];

export async function listWebhooks(signal?: AbortSignal): Promise<readonly webhooks.WebhookInfo[]> {
  return (await post<webhooks.ListWebhooksResponse>('/webhooks/list-webhooks', {}, signal)).webhooks;
}

export function addWebhook(fields: WebhookFields): Promise<webhooks.WebhookSecretResponse> {
  return post('/webhooks/add-webhook', fields);
}

export function updateWebhook(request: webhooks.UpdateWebhookRequest): Promise<DefaultResponse> {
  return post('/webhooks/update-webhook', request);
}

export function deleteWebhook(id: string): Promise<DefaultResponse> {
  return post('/webhooks/delete-webhook', { webhook_id: id });
}

export function rotateWebhookSecret(id: string): Promise<webhooks.WebhookSecretResponse> {
  return post('/webhooks/rotate-webhook-secret', { webhook_id: id });
}

export function testWebhook(id: string): Promise<webhooks.TestWebhookResponse> {
  return post('/webhooks/test-webhook', { webhook_id: id });
}

/** The last deliveries, the newest first. */
export async function listDeliveries(id: string, signal?: AbortSignal): Promise<readonly DeliveryInfo[]> {
  const request = { webhook_id: id };
  return (await post<webhooks.ListDeliveriesResponse>('/webhooks/list-deliveries', request, signal))
    .deliveries;
}

/** Delivers all changes from `sequence` on again. */
export function replayWebhook(id: string, sequence: number): Promise<DefaultResponse> {
  return post('/webhooks/replay-webhook', { webhook_id: id, sequence });
}
