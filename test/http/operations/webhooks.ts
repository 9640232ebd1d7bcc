import Type from 'typebox';
import { withoutRestrictions, writeAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DateTime, Nullable, OneOf, Uuid } from './reply-types.ts';

const missingId = '0b8f6f7e-6c1d-4a55-9a3e-3f0d8c1b2a47';

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

/** Operations of webhooks, on a server that allows no host. */
export const webhookTests = {
  'add-webhook': {
    expected: withoutRestrictions(writeAccess(403, 403)),
    buildInput: withBody({ url: 'https://example.com/quarry' }),
    published: published('webhooks/add-webhook', Secret),
  },
  'list-webhooks': {
    expected: withoutRestrictions(writeAccess(200, 200)),
    published: published('webhooks/list-webhooks', Type.Object({ webhooks: Type.Array(Webhook) })),
  },
  'update-webhook': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: withBody({ webhook_id: missingId }),
    published: published('webhooks/update-webhook', Success),
  },
  'delete-webhook': {
    expected: withoutRestrictions(writeAccess(404)),
    published: published('webhooks/delete-webhook', Success),
  },
  'rotate-webhook-secret': {
    expected: withoutRestrictions(writeAccess(404)),
    published: published('webhooks/rotate-webhook-secret', Secret),
  },
  'test-webhook': {
    expected: withoutRestrictions(writeAccess(404)),
    published: published('webhooks/test-webhook', TestOutcome),
  },
  'list-deliveries': {
    expected: withoutRestrictions(writeAccess(404)),
    published: published('webhooks/list-deliveries', Type.Object({ deliveries: Type.Array(Attempt) })),
  },
  'replay-webhook': {
    expected: withoutRestrictions(writeAccess(404)),
    published: published('webhooks/replay-webhook', Success),
  },
} satisfies OperationTests;
