import { ChangeType } from './changes.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp, Uuid } from './wire.ts';

const fields = {
  url: Type.String({ description: 'An https:// URL.', examples: ['https://example.com/quarry'] }),
  description: Type.Optional(Type.String({ description: 'At most 256 characters.' })),
  types: Type.Optional(
    Nullable(Type.Array(ChangeType), { description: 'Only changes of these types; null: all.' }),
  ),
  collection_names: Type.Optional(
    Nullable(Type.Array(Type.String()), {
      description: 'Only changes of collections with these names; null: all.',
    }),
  ),
};

export const AddWebhookRequest = Component('AddWebhookRequest', 'A webhook to create.', fields);
export type AddWebhookRequest = Static<typeof AddWebhookRequest>;

export const WebhookRequest = Component('WebhookRequest', 'A webhook.', {
  webhook_id: Uuid('ID of the webhook.'),
});
export type WebhookRequest = Static<typeof WebhookRequest>;

export const UpdateWebhookRequest = Component(
  'UpdateWebhookRequest',
  'Changes to a webhook; absent fields keep their values.',
  {
    webhook_id: Uuid('ID of the webhook.'),
    ...fields,
    url: Type.Optional(fields.url),
    status: Type.Optional(
      OneOf(['active', 'paused'], { description: '`active` also restarts a webhook that has failed.' }),
    ),
  },
);
export type UpdateWebhookRequest = Static<typeof UpdateWebhookRequest>;

export const ReplayWebhookRequest = Component(
  'ReplayWebhookRequest',
  'A webhook and the change from which it continues.',
  {
    webhook_id: Uuid('ID of the webhook.'),
    sequence: Type.Integer({ description: 'The first change that is delivered again.' }),
  },
);
export type ReplayWebhookRequest = Static<typeof ReplayWebhookRequest>;

export const WebhookInfo = Component('WebhookInfo', 'A webhook and its state.', {
  webhook_id: Uuid('ID of the webhook.'),
  url: Type.String(),
  description: Type.String(),
  types: Nullable(Type.Array(ChangeType)),
  collection_names: Nullable(Type.Array(Type.String())),
  status: OneOf(['active', 'paused', 'failed'], {
    description: 'Changes are delivered only while the status is `active`.',
  }),
  failure: Nullable(Type.String(), { description: 'Reason for the status `failed`; otherwise null.' }),
  sequence: Type.Integer({ description: 'All changes up to this number have been delivered.' }),
  failed_attempts: Type.Integer({ description: 'Failed attempts to deliver the next change.' }),
  next_attempt_at: Nullable(Timestamp('Time of the next attempt after a failure.')),
  created_at: Timestamp('Time when the webhook was created.'),
});
export type WebhookInfo = Static<typeof WebhookInfo>;

export const WebhookSecretResponse = Component('WebhookSecretResponse', 'The secret, shown only once.', {
  webhook_id: Uuid('ID of the webhook.'),
  secret: Type.String({ description: 'Key of the signatures, in the format of Standard Webhooks.' }),
});
export type WebhookSecretResponse = Static<typeof WebhookSecretResponse>;

export const ListWebhooksResponse = Component('ListWebhooksResponse', 'All webhooks.', {
  webhooks: Type.Array(WebhookInfo),
});
export type ListWebhooksResponse = Static<typeof ListWebhooksResponse>;

export const WebhookAttempt = Component('WebhookAttempt', 'An attempt to deliver a change.', {
  change_id: Type.String(),
  sequence: Type.Integer(),
  type: Type.String(),
  attempted_at: Timestamp('Time of the attempt.'),
  milliseconds: Type.Integer(),
  status: Nullable(Type.Integer(), { description: 'HTTP status of the reply; null if there was none.' }),
  error: Nullable(Type.String(), {
    description: 'Reason for the failure; null if the change was delivered.',
  }),
});

export const ListDeliveriesResponse = Component('ListDeliveriesResponse', 'The last attempts.', {
  deliveries: Type.Array(WebhookAttempt, { description: 'The newest first, at most 50.' }),
});
export type ListDeliveriesResponse = Static<typeof ListDeliveriesResponse>;

export const TestWebhookResponse = Component('TestWebhookResponse', 'Outcome of the test delivery.', {
  delivered: Type.Boolean(),
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  milliseconds: Type.Integer(),
});
export type TestWebhookResponse = Static<typeof TestWebhookResponse>;
