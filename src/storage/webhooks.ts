import { webhookLimits } from '../core/webhook-limits.ts';
import type { ChangeType } from '../schemas/changes.ts';
import { tables, u53, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export interface WebhookSecret {
  readonly sealed: Uint8Array;
  /** Milliseconds since the epoch; null for the current secret. */
  readonly expiresAt: number | null;
}

export interface Webhook {
  readonly webhookId: string;
  readonly organizationId: string;
  readonly url: string;
  readonly description: string;
  /** Null: all. */
  readonly types: readonly ChangeType[] | null;
  readonly collections: readonly string[] | null;
  /** The current one first. */
  readonly secrets: readonly WebhookSecret[];
  readonly status: 'active' | 'paused' | 'failed';
  /** Reason for the status `failed`. */
  readonly failure: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Position of a webhook in the change feed: everything up to `sequence` is delivered. */
export interface WebhookCursor {
  readonly epoch: number;
  readonly sequence: number;
  /** Attempts to deliver the next change that failed. */
  readonly attempts: number;
  /** Milliseconds since the epoch; null while deliveries succeed. */
  readonly failingSince: number | null;
  readonly nextAt: number;
  /** Number of the last attempt in the list of deliveries. */
  readonly deliveries: number;
}

export interface DeliveryAttempt {
  readonly changeId: string;
  readonly sequence: number;
  readonly type: string;
  readonly at: number;
  readonly milliseconds: number;
  /** Null if there was no reply. */
  readonly status: number | null;
  readonly error: string | null;
}

type WebhookKey = readonly [organizationId: string, webhookId: string];
const webhooksTable = new Table<WebhookKey, Webhook>(tables.webhooks, [uuid, uuid]);
const cursorsTable = new Table<WebhookKey, WebhookCursor>(tables.webhookCursors, [uuid, uuid]);
const deliveriesTable = new Table<readonly [...WebhookKey, number: number], DeliveryAttempt>(
  tables.webhookDeliveries,
  [uuid, uuid, u53],
);

/** Webhooks of organizations, their positions in the change feed, and their last deliveries. */
export class Webhooks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  find(organizationId: string, webhookId: string): Webhook | undefined {
    return webhooksTable.get(this.#store, [organizationId, webhookId]);
  }

  async list(organizationId: string): Promise<Webhook[]> {
    const found: Webhook[] = [];
    for await (const { value } of webhooksTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  async listAll(): Promise<Webhook[]> {
    const found: Webhook[] = [];
    for await (const { value } of webhooksTable.range(this.#store, [])) found.push(value);
    return found;
  }

  put(webhook: Webhook): WriteOperation {
    return webhooksTable.put([webhook.organizationId, webhook.webhookId], webhook);
  }

  cursorOf({ organizationId, webhookId }: Webhook): WebhookCursor | undefined {
    return cursorsTable.get(this.#store, [organizationId, webhookId]);
  }

  putCursor({ organizationId, webhookId }: Webhook, cursor: WebhookCursor): WriteOperation {
    return cursorsTable.put([organizationId, webhookId], cursor);
  }

  /** `number`: `deliveries` of the cursor in the same write. */
  putDelivery({ organizationId, webhookId }: Webhook, number: number, delivery: DeliveryAttempt) {
    const put = deliveriesTable.put([organizationId, webhookId, number], delivery);
    const old = number - webhookLimits.deliveriesKept;
    return old < 1 ? [put] : [put, deliveriesTable.delete([organizationId, webhookId, old])];
  }

  /** Returns the last deliveries, the newest first. */
  async listDeliveries({ organizationId, webhookId }: Webhook): Promise<DeliveryAttempt[]> {
    const found: DeliveryAttempt[] = [];
    const entries = deliveriesTable.range(this.#store, [organizationId, webhookId], { reverse: true });
    for await (const { value } of entries) found.push(value);
    return found;
  }

  /** Returns the operations that delete a webhook with its position and deliveries. */
  async deleteOperations({ organizationId, webhookId }: Webhook): Promise<WriteOperation[]> {
    const operations: WriteOperation[] = [
      webhooksTable.delete([organizationId, webhookId]),
      cursorsTable.delete([organizationId, webhookId]),
    ];
    for await (const key of deliveriesTable.keys(this.#store, [organizationId, webhookId]))
      operations.push({ type: 'delete', key });
    return operations;
  }
}
