import { actorOf } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import type { Sealer } from '../core/sealer.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { webhookLimits } from '../core/webhook-limits.ts';
import { type PinnedConnections, portOf } from '../egress/pinned-connections.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type * as schemas from '../schemas/webhooks.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import type { ServiceCall } from '../services/call.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { Webhook, WebhookCursor, WebhookSecret, Webhooks } from '../storage/webhooks.ts';
import type { DeliverySender } from './delivery-sender.ts';
import { formatSecret } from './signature.ts';
import type { WebhookDispatcher } from './webhook-dispatcher.ts';

export interface WebhookServicesOptions {
  readonly store: Store;
  readonly webhooks: Webhooks;
  readonly feeds: ChangeFeeds;
  readonly dispatcher: Pick<WebhookDispatcher, 'reconfigure' | 'deleteAll'>;
  readonly sender: Pick<DeliverySender, 'send'>;
  readonly connections: Pick<PinnedConnections, 'checkUrl' | 'allowsPrivate'>;
  readonly audit: Pick<AuditLog, 'entryOperation'>;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly random: Random;
}

type WebhookCall = Pick<ServiceCall<OrganizationPrincipal>, 'principal' | 'cancellation' | 'address'>;

const secretBytes = 32;

/** Creates, changes, tests and lists webhooks. */
export class WebhookServices {
  readonly #options: WebhookServicesOptions;
  /** Serializes the changes to the webhooks of an organization. */
  readonly #locks = new KeyedMutex();

  constructor(options: WebhookServicesOptions) {
    this.#options = options;
  }

  /** Errors: 400; 403 for a host that the server does not allow; 429 for too many webhooks. */
  async addWebhook(
    call: WebhookCall,
    request: schemas.AddWebhookRequest,
  ): Promise<schemas.WebhookSecretResponse> {
    const { organizationId } = call.principal;
    const { store, webhooks, feeds, dispatcher, clock, random } = this.#options;
    this.#checkUrl(request.url);
    return await this.#locks.run(organizationId, async () => {
      const { perOrganizationMax } = webhookLimits;
      if ((await webhooks.list(organizationId)).length >= perOrganizationMax)
        throw new AppError(
          'rate_limited',
          `An organization can have at most ${perOrganizationMax} webhooks. Delete one first.`,
          { headers: { 'x-quarry-limit': 'webhooks', 'x-should-retry': 'false' } },
        );
      const webhookId = random.uuid();
      const { secret, sealed } = this.#createSecret(webhookId);
      const webhook: Webhook = {
        webhookId,
        organizationId,
        url: request.url,
        description: request.description ?? '',
        types: request.types ?? null,
        collections: request.collection_names ?? null,
        secrets: [sealed],
        status: 'active',
        failure: null,
        createdAt: clock.now(),
      };
      const { epoch, last } = await feeds.open(organizationId, clock.now());
      const cursor = { epoch, sequence: last, attempts: 0, failingSince: null, nextAt: 0, deliveries: 0 };
      await dispatcher.reconfigure(organizationId, webhookId, () =>
        store.write([
          webhooks.put(webhook),
          webhooks.putCursor(webhook, cursor),
          this.#audit(call, 'webhook.added', webhook),
        ]),
      );
      return { webhook_id: webhookId, secret };
    });
  }

  async listWebhooks({ principal: { organizationId } }: WebhookCall): Promise<schemas.ListWebhooksResponse> {
    const { webhooks } = this.#options;
    const found = await webhooks.list(organizationId);
    return { webhooks: found.map((webhook) => toInfo(webhook, webhooks.cursorOf(webhook))) };
  }

  async updateWebhook(call: WebhookCall, request: schemas.UpdateWebhookRequest): Promise<DefaultResponse> {
    const { webhook_id: id, url, description, types, collection_names: collections, status } = request;
    if (url !== undefined) this.#checkUrl(url);
    return await this.#change(call, id, async (webhook) => {
      const updated = {
        ...webhook,
        ...(url === undefined ? {} : { url }),
        ...(description === undefined ? {} : { description }),
        ...(types === undefined ? {} : { types }),
        ...(collections === undefined ? {} : { collections }),
        ...(status === undefined ? {} : { status, failure: null }),
      };
      const { store, webhooks } = this.#options;
      const restarted = status === 'active' ? await this.#restart(webhook) : [];
      await store.write([webhooks.put(updated), ...restarted, this.#audit(call, 'webhook.updated', updated)]);
    });
  }

  deleteWebhook(call: WebhookCall, { webhook_id: id }: schemas.WebhookRequest): Promise<DefaultResponse> {
    const { store, webhooks } = this.#options;
    return this.#change(call, id, async (webhook) => {
      const deleted = await webhooks.deleteOperations(webhook);
      await store.write([...deleted, this.#audit(call, 'webhook.deleted', webhook)]);
    });
  }

  /** For a day, deliveries are also signed with the previous secret, so that receivers can be updated. */
  async rotateSecret(
    call: WebhookCall,
    { webhook_id: id }: schemas.WebhookRequest,
  ): Promise<schemas.WebhookSecretResponse> {
    const { store, webhooks, clock } = this.#options;
    const { secret, sealed } = this.#createSecret(id);
    await this.#change(call, id, (webhook) => {
      const [current] = webhook.secrets;
      const expiresAt = clock.now() + webhookLimits.secretOverlapMs;
      const secrets = current === undefined ? [sealed] : [sealed, { ...current, expiresAt }];
      return store.write([
        webhooks.put({ ...webhook, secrets }),
        this.#audit(call, 'webhook.secret_rotated', webhook),
      ]);
    });
    return { webhook_id: id, secret };
  }

  async testWebhook(
    call: WebhookCall,
    { webhook_id: id }: schemas.WebhookRequest,
  ): Promise<schemas.TestWebhookResponse> {
    const { sender, clock, random } = this.#options;
    const webhook = this.#find(call, id);
    const timestamp = toTimestamp(clock.now());
    const message = {
      id: `test_${random.uuid()}`,
      type: 'webhook.test',
      timestamp,
      data: { webhook_id: id },
    };
    const outcome = await sender.send(webhook, message, call.cancellation);
    const { status, error, milliseconds, failure } = outcome;
    return { delivered: failure === null, status, error, milliseconds };
  }

  async listDeliveries(
    call: WebhookCall,
    { webhook_id: id }: schemas.WebhookRequest,
  ): Promise<schemas.ListDeliveriesResponse> {
    const deliveries = await this.#options.webhooks.listDeliveries(this.#find(call, id));
    return {
      deliveries: deliveries.map(({ changeId, at, ...rest }) => ({
        change_id: changeId,
        attempted_at: toTimestamp(at),
        ...rest,
      })),
    };
  }

  /** Errors: 410 for a change that is no longer kept, or not made yet. */
  replayWebhook(
    call: WebhookCall,
    { webhook_id: id, sequence }: schemas.ReplayWebhookRequest,
  ): Promise<DefaultResponse> {
    const { store, webhooks, feeds, clock } = this.#options;
    return this.#change(call, id, async (webhook) => {
      const { organizationId } = webhook;
      const feed = await feeds.open(organizationId, clock.now());
      const first = (await feeds.firstSequence(organizationId)) ?? feed.last + 1;
      if (sequence < first || sequence > feed.last) throw changeNotKept(sequence, first, feed.last);
      const deliveries = webhooks.cursorOf(webhook)?.deliveries ?? 0;
      const cursor = { attempts: 0, failingSince: null, nextAt: 0, deliveries };
      const { epoch } = feed;
      await store.write([
        webhooks.putCursor(webhook, { ...cursor, epoch, sequence: sequence - 1 }),
        this.#audit(call, 'webhook.replayed', webhook),
      ]);
    });
  }

  /** Stops and deletes the webhooks of a deleted organization. Idempotent. */
  deleteAllOfOrganization(organizationId: string): Promise<void> {
    return this.#locks.run(organizationId, () => this.#options.dispatcher.deleteAll(organizationId));
  }

  /** The URL stays out of the log: it can contain a secret. */
  #audit({ principal, address }: WebhookCall, action: string, webhook: Webhook): WriteOperation {
    return this.#options.audit.entryOperation({
      organizationId: principal.organizationId,
      actor: actorOf(principal),
      address: address(),
      action,
      target: webhook.webhookId,
      details: { host: new URL(webhook.url).host, status: webhook.status },
    });
  }

  async #change(
    call: WebhookCall,
    id: string,
    change: (webhook: Webhook) => Promise<void>,
  ): Promise<DefaultResponse> {
    const { organizationId } = call.principal;
    await this.#locks.run(organizationId, () => {
      this.#find(call, id);
      return this.#options.dispatcher.reconfigure(organizationId, id, () => change(this.#find(call, id)));
    });
    return successResponse;
  }

  /** Returns the operations that clear the failures, and the position if its next change is no longer kept. */
  async #restart(webhook: Webhook) {
    const { webhooks, feeds, clock } = this.#options;
    const { organizationId } = webhook;
    const { epoch, last } = await feeds.open(organizationId, clock.now());
    const first = (await feeds.firstSequence(organizationId)) ?? last + 1;
    const before = webhooks.cursorOf(webhook);
    const isKept = before?.epoch === epoch && before.sequence >= first - 1 && before.sequence <= last;
    const sequence = isKept ? before.sequence : first - 1;
    const deliveries = before?.deliveries ?? 0;
    return [
      webhooks.putCursor(webhook, {
        epoch,
        sequence,
        attempts: 0,
        failingSince: null,
        nextAt: 0,
        deliveries,
      }),
    ];
  }

  #find({ principal: { organizationId } }: WebhookCall, id: string): Webhook {
    const webhook = this.#options.webhooks.find(organizationId, id);
    if (webhook === undefined) throw new AppError('not_found', `The webhook "${id}" does not exist.`);
    return webhook;
  }

  #createSecret(webhookId: string): { readonly secret: string; readonly sealed: WebhookSecret } {
    const secret = formatSecret(this.#options.random.bytes(secretBytes));
    return { secret, sealed: { sealed: this.#options.sealer.seal(secret, webhookId), expiresAt: null } };
  }

  /** Errors: 400; 403 for a host that the server does not allow. */
  #checkUrl(text: string): void {
    const { connections } = this.#options;
    const url = connections.checkUrl(text);
    if (url.protocol !== 'https:' && !connections.allowsPrivate(url.hostname, portOf(url)))
      throw new AppError('bad_request', 'url must start with https://.');
    if (url.hash !== '') throw new AppError('bad_request', 'url must not contain a fragment (#...).');
  }
}

function changeNotKept(sequence: number, first: number, last: number): AppError {
  const kept = first > last ? 'no changes' : `the changes ${first} to ${last}`;
  return new AppError('gone', `Change ${sequence} is not in the feed, which has ${kept}.`);
}

function toInfo(webhook: Webhook, cursor: WebhookCursor | undefined): schemas.WebhookInfo {
  const { webhookId, url, description, types, collections, status, failure, createdAt } = webhook;
  const { sequence = 0, attempts = 0, nextAt = 0 } = cursor ?? {};
  return {
    webhook_id: webhookId,
    url,
    description,
    types: types === null ? null : [...types],
    collection_names: collections === null ? null : [...collections],
    status,
    failure,
    sequence,
    failed_attempts: attempts,
    next_attempt_at: attempts === 0 ? null : toTimestamp(nextAt),
    created_at: toTimestamp(createdAt),
  };
}
