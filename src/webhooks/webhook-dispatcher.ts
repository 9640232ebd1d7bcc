import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { webhookLimits } from '../core/webhook-limits.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { ChangeSignal } from '../services/change-signal.ts';
import { toChange } from '../services/changes.ts';
import { toVisibleChange } from '../services/visible-changes.ts';
import type { ChangeFeeds, FeedState, NumberedChange } from '../storage/change-feeds.ts';
import type { Collections } from '../storage/collections.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { Webhook, WebhookCursor, Webhooks } from '../storage/webhooks.ts';
import type { DeliverySender, SendOutcome } from './delivery-sender.ts';

export interface WebhookDispatcherOptions {
  readonly store: Store;
  readonly webhooks: Webhooks;
  readonly feeds: ChangeFeeds;
  readonly signal: ChangeSignal;
  readonly collections: Pick<Collections, 'findById'>;
  readonly sender: Pick<DeliverySender, 'send'>;
  readonly clock: Clock;
  /** Resolves after this time, or when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: Random;
  readonly hasOrganization: (organizationId: string) => boolean;
  readonly logger: Logger;
  /** Counts an attempt by its outcome. */
  readonly count: (outcome: 'delivered' | NonNullable<SendOutcome['failure']>) => void;
}

interface Run {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Longest wait for a change. The next read marks the feed of an active webhook as used, so that it is not closed. */
const idleMs = 60_000;
/** Milliseconds to wait after an error of this server, such as a full disk. */
const errorMs = 5_000;
const feedRestarted =
  'The change feed was restarted. Activate the webhook to continue with the oldest change of the new feed.';
/** Number of filtered changes after which the position is stored. */
const skippedMax = 1_000;

/**
 * Delivers the changes of an organization to its webhooks: in order for each webhook, at least once. The position is
 * stored after each delivery, so that a restart repeats at most the last one.
 */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions;
  readonly #runs = new Map<string, Run>();
  /** Times of the changes that are being delivered, by webhook. */
  readonly #pendingSince = new Map<string, number>();
  #isClosed = false;

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    for (const webhook of await this.#options.webhooks.listAll()) this.#start(webhook);
  }

  /**
   * Stops the deliveries of a webhook, calls `change`, and starts them again with the new state. The caller serializes
   * the calls for a webhook.
   */
  async reconfigure<T>(organizationId: string, webhookId: string, change: () => Promise<T>): Promise<T> {
    await this.#stop(webhookId);
    try {
      return await change();
    } finally {
      const webhook = this.#options.webhooks.find(organizationId, webhookId);
      if (webhook !== undefined) this.#start(webhook);
    }
  }

  /** Deletes the webhooks of a deleted organization. */
  async deleteAll(organizationId: string): Promise<void> {
    for (const webhook of await this.#options.webhooks.list(organizationId)) {
      await this.#stop(webhook.webhookId);
      await this.#write(await this.#options.webhooks.deleteOperations(webhook));
    }
  }

  /** Longest time since a change that an active webhook has not delivered yet, in milliseconds. */
  lagMs(): number {
    const now = this.#options.clock.now();
    let lagMs = 0;
    for (const at of this.#pendingSince.values()) lagMs = Math.max(lagMs, now - at);
    return lagMs;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#runs.keys()].map((webhookId) => this.#stop(webhookId)));
  }

  #start({ organizationId, webhookId, status }: Webhook): void {
    if (status !== 'active' || this.#isClosed || this.#runs.has(webhookId)) return;
    const stop = new AbortController();
    const ended = this.#run(organizationId, webhookId, stop.signal).finally(() =>
      this.#pendingSince.delete(webhookId),
    );
    this.#runs.set(webhookId, { stop, ended });
  }

  async #stop(webhookId: string): Promise<void> {
    const run = this.#runs.get(webhookId);
    if (run === undefined) return;
    run.stop.abort();
    await run.ended;
    this.#runs.delete(webhookId);
  }

  /** Never rejects. */
  async #run(organizationId: string, webhookId: string, stop: AbortSignal): Promise<void> {
    const { webhooks, hasOrganization, logger } = this.#options;
    while (!stop.aborted) {
      try {
        const webhook = webhooks.find(organizationId, webhookId);
        if (webhook?.status !== 'active' || !hasOrganization(organizationId)) return;
        const { token, dispose } = linkToken(stop);
        await this.#deliverNew(webhook, stop, token).finally(dispose);
      } catch (error) {
        if (stop.aborted) return;
        logger.warn({ organizationId, webhookId, error: String(error) }, 'webhook stopped, will retry');
        await this.#options.sleep(errorMs, stop);
      }
    }
  }

  /** Delivers the changes after the position; if there are none, waits for one. */
  async #deliverNew(webhook: Webhook, stop: AbortSignal, token: CancellationToken): Promise<void> {
    const { webhooks, feeds, signal, clock } = this.#options;
    const { organizationId } = webhook;
    const feed = await feeds.open(organizationId, clock.now());
    let cursor = webhooks.cursorOf(webhook);
    if (cursor === undefined || cursor.epoch !== feed.epoch || cursor.sequence > feed.last)
      return await this.#fail(webhook, feedRestarted);
    await this.#options.sleep(cursor.nextAt - clock.now(), stop);
    let { sequence } = cursor;
    for await (const numbered of feeds.readAfter(organizationId, sequence)) {
      if (stop.aborted) return;
      if (numbered.sequence !== sequence + 1) return await this.#failWithGap(webhook);
      sequence = numbered.sequence;
      const selected = this.#select(webhook, numbered);
      if (selected === null) {
        if (sequence - cursor.sequence >= skippedMax) cursor = await this.#move(webhook, cursor, sequence);
        continue;
      }
      const next = await this.#deliver(webhook, { cursor, feed, selected, token });
      if (next === null) return;
      cursor = next;
    }
    if (sequence < feed.last) return await this.#failWithGap(webhook);
    if (sequence > cursor.sequence) await this.#move(webhook, cursor, sequence);
    this.#pendingSince.delete(webhook.webhookId);
    await signal.wait(organizationId, { sequence, msMax: idleMs }, token);
  }

  /** Returns the position after the delivery; null if it failed. */
  async #deliver(
    webhook: Webhook,
    {
      cursor,
      feed,
      selected,
      token,
    }: {
      readonly cursor: WebhookCursor;
      readonly feed: FeedState;
      readonly selected: NumberedChange;
      readonly token: CancellationToken;
    },
  ): Promise<WebhookCursor | null> {
    const { sender, clock, count, webhooks } = this.#options;
    this.#pendingSince.set(webhook.webhookId, selected.change.at);
    const change = toChange(selected, feed, {});
    const { id, type, occurred_at: timestamp } = change;
    const at = clock.now();
    const outcome = await sender.send(webhook, { id, type, timestamp, data: change }, token);
    count(outcome.failure ?? 'delivered');
    const { status, error, milliseconds } = outcome;
    const deliveries = cursor.deliveries + 1;
    const delivery = { changeId: id, sequence: selected.sequence, type, at, milliseconds, status, error };
    const logged = webhooks.putDelivery(webhook, deliveries, delivery);
    if (outcome.failure === null) {
      const next = {
        ...cursor,
        deliveries,
        sequence: selected.sequence,
        attempts: 0,
        failingSince: null,
        nextAt: 0,
      };
      await this.#write([...logged, webhooks.putCursor(webhook, next)]);
      return next;
    }
    await this.#recordFailure(webhook, { ...cursor, deliveries }, { outcome, at, logged });
    return null;
  }

  async #recordFailure(
    webhook: Webhook,
    cursor: WebhookCursor,
    {
      outcome,
      at,
      logged,
    }: { readonly outcome: SendOutcome; readonly at: number; readonly logged: readonly WriteOperation[] },
  ): Promise<void> {
    const { webhooks, random, clock, logger } = this.#options;
    const { organizationId, webhookId } = webhook;
    const { retryMsMin, retryMsMax, failingMsMax } = webhookLimits;
    const { failure, status, error } = outcome;
    const attempts = cursor.attempts + 1;
    const failingSince = cursor.failingSince ?? at;
    const delayMs = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(30, attempts - 1));
    // Webhooks that failed at the same time must not retry at the same time.
    const jitter = 0.8 + (0.4 * random.bytes(1)[0]!) / 255;
    const nextAt = clock.now() + Math.round(delayMs * jitter);
    await this.#write([
      ...logged,
      webhooks.putCursor(webhook, { ...cursor, attempts, failingSince, nextAt }),
    ]);
    // One line for each series of failures.
    if (attempts === 1)
      logger.warn({ organizationId, webhookId, failure, status }, 'webhook delivery failed');
    if (status === 410) await this.#fail(webhook, 'The receiver replied with status 410 (gone).');
    else if (at - failingSince >= failingMsMax)
      await this.#fail(
        webhook,
        `Deliveries have failed for ${failingMsMax / 86_400_000} days. Last error: ${error}`,
      );
  }

  #select(webhook: Webhook, { sequence, change }: NumberedChange): NumberedChange | null {
    const { organizationId, types, collections } = webhook;
    const restriction = collections === null ? {} : { restriction: { collections, filter: null } };
    const principal: OrganizationPrincipal = {
      kind: 'organization',
      organizationId,
      keyId: webhook.webhookId,
      permission: 'read_only',
      zdr: true,
      ...restriction,
    };
    const visible = toVisibleChange(principal, this.#options.collections, change);
    if (visible === null || (types !== null && !types.includes(visible.type))) return null;
    return { sequence, change: visible };
  }

  async #move(webhook: Webhook, cursor: WebhookCursor, sequence: number): Promise<WebhookCursor> {
    const moved = { ...cursor, sequence };
    await this.#write([this.#options.webhooks.putCursor(webhook, moved)]);
    return moved;
  }

  #failWithGap(webhook: Webhook): Promise<void> {
    const reason =
      'Changes that were not delivered are no longer kept. Activate the webhook to continue with the oldest change.';
    return this.#fail(webhook, reason);
  }

  async #fail(webhook: Webhook, failure: string): Promise<void> {
    const { organizationId, webhookId } = webhook;
    await this.#write([this.#options.webhooks.put({ ...webhook, status: 'failed', failure })]);
    this.#options.logger.warn({ organizationId, webhookId, failure }, 'webhook disabled');
  }

  #write(operations: readonly WriteOperation[]): Promise<void> {
    return this.#options.store.write(operations, { mayUseReserve: true });
  }
}

/** Returns a token that `stop` cancels. `dispose` releases it: a webhook creates one for each wait. */
function linkToken(stop: AbortSignal): { readonly token: CancellationToken; readonly dispose: () => void } {
  const listeners: (() => void)[] = [];
  const cancel = () => {
    for (const listener of listeners.splice(0)) listener();
  };
  stop.addEventListener('abort', cancel, { once: true });
  const token: CancellationToken = {
    get isCanceled() {
      return stop.aborted;
    },
    signal: stop,
    onCanceled: (listener) => {
      if (stop.aborted) listener();
      else listeners.push(listener);
    },
  };
  return { token, dispose: () => stop.removeEventListener('abort', cancel) };
}
