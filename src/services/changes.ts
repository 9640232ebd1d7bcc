import { createHmac } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import { changeLimits } from '../core/change-limits.ts';
import type { Clock } from '../core/clock.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { Change, GetChangesRequest, GetChangesResponse } from '../schemas/changes.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { ChangeFeeds, FeedState, NumberedChange } from '../storage/change-feeds.ts';
import type { Collections } from '../storage/collections.ts';
import type { ServiceCall } from './call.ts';
import type { ChangeSignal } from './change-signal.ts';
import { type EventStream, heartbeatMs, type StreamEvent } from './event-stream.ts';
import { toVisibleChange } from './visible-changes.ts';

export interface ChangeServicesOptions {
  readonly feeds: ChangeFeeds;
  readonly signal: ChangeSignal;
  readonly collections: Pick<Collections, 'findById'>;
  /** Seals cursors, so that they reveal no number of changes that a key may not see. */
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Fair shares of the calls that wait, and of the open streams. */
  readonly waits: ShareLimiter;
  readonly streams: ShareLimiter;
}

interface ShareLimiter {
  /** Returns false without a share. */
  readonly tryAcquire: (organizationId: string) => boolean;
  readonly release: (organizationId: string) => void;
}

type OrganizationCall = ServiceCall<OrganizationPrincipal>;

interface Position {
  readonly epoch: number;
  /** Number of the last change that was read. */
  readonly sequence: number;
}

interface VisibleBatch {
  readonly changes: readonly NumberedChange[];
  readonly sequence: number;
  readonly hasMore: boolean;
}

/** Digits of a sequence number in a cursor: all cursors have the same length. */
const sequenceDigits = 16;

/** The feed of changes of an organization, for replies and event streams. */
export class ChangeServices {
  readonly #options: ChangeServicesOptions;
  readonly #streamsByOrganization = new Map<string, number>();

  constructor(options: ChangeServicesOptions) {
    this.#options = options;
  }

  /** Errors: 400 for an invalid cursor, 410 for one whose changes are no longer kept. */
  async getChanges(call: OrganizationCall, request: GetChangesRequest): Promise<GetChangesResponse> {
    const { organizationId } = call.principal;
    const feed = await this.#options.feeds.open(organizationId, this.#options.clock.now());
    let position = await this.#startOf(organizationId, feed, request.after);
    if (position === null)
      return { changes: [], cursor: this.#seal(organizationId, feed, feed.last), has_more: false };
    const limit = request.limit ?? changeLimits.perReplyDefault;
    let batch = await this.#read(call, position, limit);
    const waitMs = (request.wait_seconds ?? 0) * 1_000;
    const deadline = this.#options.clock.monotonic() + waitMs;
    const mayWait =
      waitMs > 0 && batch.changes.length === 0 && this.#options.waits.tryAcquire(organizationId);
    try {
      while (mayWait && batch.changes.length === 0 && !call.cancellation.isCanceled) {
        const msMax = deadline - this.#options.clock.monotonic();
        if (msMax <= 0) break;
        position = { ...position, sequence: batch.sequence };
        await this.#options.signal.wait(
          organizationId,
          { sequence: batch.sequence, msMax },
          call.cancellation,
        );
        batch = await this.#read(call, position, limit);
      }
    } finally {
      if (mayWait) this.#options.waits.release(organizationId);
    }
    return {
      changes: batch.changes.map((change) => toChange(change, feed, call.principal)),
      cursor: this.#seal(organizationId, feed, batch.sequence),
      has_more: batch.hasMore,
    };
  }

  /**
   * Opens an event stream. `isAllowed` is called before each event: a key that was deleted or changed ends the stream.
   * Errors: those of `getChanges`; 429 with too many streams.
   */
  async streamChanges(
    call: OrganizationCall,
    request: Pick<GetChangesRequest, 'after'>,
    isAllowed: () => boolean,
  ): Promise<EventStream> {
    const { organizationId } = call.principal;
    const feed = await this.#options.feeds.open(organizationId, this.#options.clock.now());
    const start = await this.#startOf(organizationId, feed, request.after);
    const position = start ?? { epoch: feed.epoch, sequence: feed.last };
    const first = await this.#read(call, position, changeLimits.perReplyDefault);
    this.#acquireStream(organizationId);
    let isOpen = true;
    const close = () => {
      if (isOpen) this.#releaseStream(organizationId);
      isOpen = false;
    };
    return { events: this.#follow(call, { feed, first, isAllowed, close }), close, isAwaitedAtStop: false };
  }

  async *#follow(
    call: OrganizationCall,
    {
      feed,
      first,
      isAllowed,
      close,
    }: {
      readonly feed: FeedState;
      readonly first: VisibleBatch;
      readonly isAllowed: () => boolean;
      readonly close: () => void;
    },
  ): AsyncGenerator<StreamEvent, void, void> {
    const { signal, clock } = this.#options;
    const { principal, cancellation } = call;
    const { organizationId } = principal;
    const { epoch } = feed;
    const endsAt = clock.monotonic() + changeLimits.streamMsMax;
    try {
      yield { id: this.#seal(organizationId, feed, first.sequence), type: null };
      let batch = first;
      while (!cancellation.isCanceled && clock.monotonic() < endsAt && isAllowed()) {
        for (const change of batch.changes) {
          const id = this.#seal(organizationId, feed, change.sequence);
          const data = toChange(change, feed, principal);
          yield { id, type: data.type, data };
        }
        if (!batch.hasMore) {
          const wait = { sequence: batch.sequence, msMax: heartbeatMs };
          await signal.wait(organizationId, wait, cancellation);
        }
        if (cancellation.isCanceled || !isAllowed()) return;
        batch = await this.#read(call, { epoch, sequence: batch.sequence }, changeLimits.perReplyDefault);
        if (batch.changes.length === 0)
          yield { id: this.#seal(organizationId, feed, batch.sequence), type: null };
      }
    } catch (error) {
      // The feed was closed or trimmed: the client reconnects and gets the error as a reply.
      if (!(error instanceof AppError)) throw error;
    } finally {
      close();
    }
  }

  /** Returns null for a request that asks for the current end. */
  async #startOf(
    organizationId: string,
    feed: FeedState,
    after: string | undefined,
  ): Promise<Position | null> {
    if (after === undefined || after === '') return null;
    if (after === 'oldest') {
      const first = await this.#options.feeds.firstSequence(organizationId);
      return { epoch: feed.epoch, sequence: first === null ? feed.last : first - 1 };
    }
    const opened = openSealedText<readonly [number, string]>(
      this.#options.sealer,
      after,
      contextOf(organizationId),
    );
    if (opened === null)
      throw new AppError(
        'bad_request',
        'The field after is not a cursor of the change feed of this organization. Send the cursor of an earlier reply, or "oldest".',
      );
    if (opened[0] !== feed.epoch) throw goneError();
    return { epoch: opened[0], sequence: Number(opened[1]) };
  }

  /** Reads until `limit` visible changes are found, or the end. Errors: 410. */
  async #read(call: OrganizationCall, position: Position, limit: number): Promise<VisibleBatch> {
    const { feeds, collections } = this.#options;
    const { organizationId } = call.principal;
    const state = feeds.find(organizationId);
    if (state === null || state.epoch !== position.epoch || state.last < position.sequence) throw goneError();
    const changes: NumberedChange[] = [];
    let { sequence } = position;
    for await (const numbered of feeds.readAfter(organizationId, position.sequence)) {
      const pause = call.yieldToEventLoop();
      if (pause !== null) await pause;
      if (numbered.sequence !== sequence + 1) throw goneError();
      const change = toVisibleChange(call.principal, collections, numbered.change);
      if (change !== null && changes.length === limit) return { changes, sequence, hasMore: true };
      sequence = numbered.sequence;
      if (change !== null) changes.push({ sequence, change });
    }
    if (sequence < state.last) throw goneError();
    return { changes, sequence, hasMore: false };
  }

  #seal(organizationId: string, { epoch }: FeedState, sequence: number): string {
    const value = [epoch, String(sequence).padStart(sequenceDigits, '0')];
    return sealToText(this.#options.sealer, value, contextOf(organizationId));
  }

  #acquireStream(organizationId: string): void {
    const open = this.#streamsByOrganization.get(organizationId) ?? 0;
    if (open >= changeLimits.streamsPerOrganizationMax)
      throw new AppError(
        'rate_limited',
        `An organization can have at most ${changeLimits.streamsPerOrganizationMax} open event streams. Close one first.`,
        { headers: { 'x-quarry-limit': 'change_streams' } },
      );
    if (!this.#options.streams.tryAcquire(organizationId))
      throw new AppError('unavailable', 'The server has too many open event streams. Try again shortly.');
    this.#streamsByOrganization.set(organizationId, open + 1);
  }

  #releaseStream(organizationId: string): void {
    this.#options.streams.release(organizationId);
    const left = (this.#streamsByOrganization.get(organizationId) ?? 1) - 1;
    if (left === 0) this.#streamsByOrganization.delete(organizationId);
    else this.#streamsByOrganization.set(organizationId, left);
  }
}

function contextOf(organizationId: string): string {
  return `change cursor ${organizationId}`;
}

/** Returns the change as in replies and webhook deliveries. */
export function toChange(
  { sequence, change }: NumberedChange,
  { epoch, idKey }: FeedState,
  { restriction }: Pick<OrganizationPrincipal, 'restriction'>,
): Change {
  const id = createHmac('sha256', idKey).update(`${epoch} ${sequence}`).digest('base64url').slice(0, 24);
  return {
    id: `chg_${id}`,
    ...(restriction === undefined ? { sequence } : {}),
    type: change.type,
    occurred_at: toTimestamp(change.at),
    collection_id: change.collectionId,
    collection_name: change.collection,
    ...(change.previousCollection === undefined
      ? {}
      : { previous_collection_name: change.previousCollection }),
    ...(change.path === undefined ? {} : { path: change.path }),
    ...(change.documentId === undefined ? {} : { document_id: change.documentId }),
    ...(change.error === undefined ? {} : { error: change.error }),
  };
}

function goneError(): AppError {
  return new AppError(
    'gone',
    `The changes after this cursor are no longer kept. The feed keeps the changes of ${changeLimits.retentionMs / 86_400_000} days, at most ${changeLimits.retainedMax.toLocaleString('en-US')}, and restarts when the server is restored from a backup. Request a new cursor without the field after, then list the documents again.`,
  );
}
