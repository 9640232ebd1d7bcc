import { checkWebhookFields, checkWebhookId } from '../../schemas/webhook-checks.ts';
import * as webhooks from '../../schemas/webhooks.ts';
import { DefaultResponse, EmptyRequest } from '../../schemas/wire.ts';
import { organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

const exampleId = '0b8f6f7e-6c1d-4a55-9a3e-3f0d8c1b2a47';
const errorResponses = { 404: 'The webhook does not exist.' };
const common = { access: 'write', scope: 'organization', tag: 'webhooks' } as const;
const oneWebhook = {
  ...common,
  request: webhooks.WebhookRequest,
  example: { webhook_id: exampleId },
  errorResponses,
  check: checkWebhookId,
} as const;

export const webhookRoutes: readonly Route[] = [
  organizationRoute({
    ...common,
    operation: 'add-webhook',
    path: '/webhooks/add-webhook',
    summary: 'Create a webhook',
    description:
      'From now on, changes are sent to the URL: in order, at least once, signed as defined by Standard Webhooks. The reply contains the secret, which is shown only once.',
    request: webhooks.AddWebhookRequest,
    reply: webhooks.WebhookSecretResponse,
    example: { url: 'https://example.com/quarry', types: ['document.indexed'] },
    successStatuses: [201],
    check: checkWebhookFields,
    serve: (services, call, request) => services.webhooks.addWebhook(call, request),
  }),
  organizationRoute({
    ...common,
    operation: 'list-webhooks',
    path: '/webhooks/list-webhooks',
    summary: 'List the webhooks',
    description: 'Lists all webhooks with their state. The body may be empty.',
    request: EmptyRequest,
    reply: webhooks.ListWebhooksResponse,
    example: {},
    serve: (services, call) => services.webhooks.listWebhooks(call),
  }),
  organizationRoute({
    ...common,
    operation: 'update-webhook',
    path: '/webhooks/update-webhook',
    summary: 'Change, pause or activate a webhook',
    description:
      'Changes the fields that are set. Activating a failed webhook continues with the first undelivered change that is still kept.',
    request: webhooks.UpdateWebhookRequest,
    reply: DefaultResponse,
    example: { webhook_id: exampleId, status: 'active' },
    errorResponses,
    check: (request) => {
      checkWebhookId(request);
      checkWebhookFields(request);
    },
    serve: (services, call, request) => services.webhooks.updateWebhook(call, request),
  }),
  organizationRoute({
    ...oneWebhook,
    operation: 'delete-webhook',
    path: '/webhooks/delete-webhook',
    summary: 'Delete a webhook',
    description: 'Deletes a webhook and its list of deliveries.',
    reply: DefaultResponse,
    serve: (services, call, request) => services.webhooks.deleteWebhook(call, request),
  }),
  organizationRoute({
    ...oneWebhook,
    operation: 'rotate-webhook-secret',
    path: '/webhooks/rotate-webhook-secret',
    summary: 'Replace the secret of a webhook',
    description: 'Returns a new secret. For a day, deliveries are also signed with the previous one.',
    reply: webhooks.WebhookSecretResponse,
    serve: (services, call, request) => services.webhooks.rotateSecret(call, request),
  }),
  organizationRoute({
    ...oneWebhook,
    operation: 'test-webhook',
    path: '/webhooks/test-webhook',
    summary: 'Send a test message',
    description: 'Sends one message of the type `webhook.test` and returns the outcome.',
    reply: webhooks.TestWebhookResponse,
    serve: (services, call, request) => services.webhooks.testWebhook(call, request),
  }),
  organizationRoute({
    ...oneWebhook,
    operation: 'list-deliveries',
    path: '/webhooks/list-deliveries',
    summary: 'List the last deliveries of a webhook',
    description: 'Lists the last 50 attempts, newest first.',
    reply: webhooks.ListDeliveriesResponse,
    serve: (services, call, request) => services.webhooks.listDeliveries(call, request),
  }),
  organizationRoute({
    ...common,
    operation: 'replay-webhook',
    path: '/webhooks/replay-webhook',
    summary: 'Deliver changes again',
    description: 'Delivers all changes again, starting with this number.',
    request: webhooks.ReplayWebhookRequest,
    reply: DefaultResponse,
    example: { webhook_id: exampleId, sequence: 1 },
    errorResponses: { ...errorResponses, 410: 'The change is no longer kept, or does not exist yet.' },
    check: checkWebhookId,
    serve: (services, call, request) => services.webhooks.replayWebhook(call, request),
  }),
];
