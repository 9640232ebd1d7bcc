import Type from 'typebox';
import { DateTime, Nullable, OneOf, Uuid } from './reply-types.ts';

/** Reply shapes of the operations of webhooks. */

const Success = Type.Object({});
const Secret = Type.Object({ webhook_id: Uuid, secret: Type.String({ pattern: '^whsec_' }) });

const Webhook = Type.Object({
  webhook_id: Uuid,
  url: Type.String(),
  description: Type.String(),
  types: Nullable(Type.Array(Type.String())),
  collection_names: Nullable(Type.Array(Type.String())),
  status: OneOf(['active', 'paused', 'failed']),
  failure: Nullable(Type.String()),
  sequence: Type.Integer(),
  failed_attempts: Type.Integer(),
  next_attempt_at: Nullable(DateTime),
  created_at: DateTime,
});

const Attempt = Type.Object({
  change_id: Type.String(),
  sequence: Type.Integer(),
  type: Type.String(),
  attempted_at: DateTime,
  milliseconds: Type.Integer(),
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
});

const TestOutcome = Type.Object({
  delivered: Type.Boolean(),
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  milliseconds: Type.Integer(),
});

export const webhookReplies = {
  'webhooks/add-webhook': Secret,
  'webhooks/list-webhooks': Type.Object({ webhooks: Type.Array(Webhook) }),
  'webhooks/update-webhook': Success,
  'webhooks/delete-webhook': Success,
  'webhooks/rotate-webhook-secret': Secret,
  'webhooks/test-webhook': TestOutcome,
  'webhooks/list-deliveries': Type.Object({ deliveries: Type.Array(Attempt) }),
  'webhooks/replay-webhook': Success,
} as const;
