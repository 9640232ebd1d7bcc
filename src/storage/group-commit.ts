import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { hasFairShare } from '../core/async/fair-share.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import { evaluateGroup, type PlainOperation, type ReadKeys } from './evaluate-group.ts';
import { type FreeSpaceCheck, operationsBytes, type WriteOperation, type WriteOptions } from './store.ts';

export interface GroupCommitOptions {
  /** Returns the values as of the last finished commit, in the order of `keys`. */
  readonly getMany: ReadKeys;
  /** Makes all operations durable and visible, in order, all or nothing. Called once at a time. */
  readonly commit: (operations: readonly PlainOperation[]) => Promise<void>;
  readonly pendingBytesMax: number;
  /** Bytes after which a group is closed even if more writes are waiting. */
  readonly groupBytesMax: number;
  readonly space?: FreeSpaceCheck;
  /** Resolves writers one after the other, because each continues its work at once when its write is durable. */
  readonly backgroundScheduler: BackgroundScheduler;
}

interface PendingWrite {
  readonly operations: readonly WriteOperation[];
  readonly bytes: number;
  /** Bytes counted against `pendingBytesMax`: 0 for a write that may exceed it, which is bounded elsewhere. */
  readonly countedBytes: number;
  /** Organization that the bytes are counted for; empty for work of the server. */
  readonly organizationId: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Merges concurrent writes into few commits: while one commit runs, arriving writes wait and form the next
 * group. The order is that of the calls. Expectations and additions are evaluated here, when each write is
 * applied, so that callers need no lock for correctness.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #waiting: PendingWrite[] = [];
  #waitingBytes = 0;
  #inFlightBytes = 0;
  #inFlightWrites = 0;
  /** Counted bytes of all waiting and in-flight writes. */
  #countedBytes = 0;
  /** The same by organization; only those with any. */
  readonly #countedBytesByOrganization = new Map<string, number>();
  #running: Promise<void> | null = null;
  /** Settles when all writers whose write is durable by now have been notified. */
  #notified: Promise<unknown> = Promise.resolve();
  #closed = false;
  #commits = 0;
  #committedWrites = 0;
  #failedCommits = 0;
  /** Per table byte: number of operations committed to the table. */
  readonly #revisions = new Float64Array(256);

  constructor(options: GroupCommitOptions) {
    assert(
      options.groupBytesMax <= options.pendingBytesMax,
      'one group fits into the queue of pending writes',
    );
    this.#options = options;
  }

  write(operations: readonly WriteOperation[], options: WriteOptions = {}): Promise<void> {
    const bytes = operationsBytes(operations);
    const rejection = this.#rejectionFor(bytes, options);
    if (rejection !== null) return Promise.reject(rejection);
    return new Promise((resolve, reject) => {
      const countedBytes = options.mayExceedQueue === true ? 0 : bytes;
      const { organizationId = '' } = options;
      this.#waiting.push({ operations, bytes, countedBytes, organizationId, resolve, reject });
      this.#waitingBytes += bytes;
      this.#count(organizationId, countedBytes);
      this.#running ??= this.#run();
    });
  }

  /**
   * Increases with every commit that writes to the table, before its writes resolve; also with a failed
   * commit, which may have changed data.
   */
  revisionOf(table: number): number {
    return (this.#revisions[table] ?? 0) + this.#failedCommits;
  }

  get statistics() {
    return {
      pendingBytes: this.#waitingBytes + this.#inFlightBytes,
      pendingWrites: this.#waiting.length + this.#inFlightWrites,
      commits: this.#commits,
      committedWrites: this.#committedWrites,
      failedCommits: this.#failedCommits,
    };
  }

  /** Rejects new writes and resolves when all accepted ones are settled. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    await this.#notified;
  }

  #rejectionFor(bytes: number, options: WriteOptions): unknown {
    if (this.#closed) return shuttingDownError();
    if (options.mayExceedQueue !== true && this.#isFull(bytes, options.organizationId ?? '')) {
      const pending = this.#countedBytes;
      return new AppError('queue_full', 'The write queue is full. Try again shortly.', {
        retryAfterMs: 1_000,
        privateDetails: { pendingBytes: pending },
      });
    }
    if (options.mayUseReserve === true) return null;
    try {
      this.#options.space?.check();
      return null;
    } catch (error) {
      return error;
    }
  }

  /**
   * Beyond the maximum, a small reserve is shared by the organizations that have few waiting bytes, so that one
   * organization cannot exclude the others.
   */
  #isFull(bytes: number, organizationId: string): boolean {
    const pending = this.#countedBytes;
    const { pendingBytesMax } = this.#options;
    if (pending === 0 || pending + bytes <= pendingBytesMax) return false;
    const held = this.#countedBytesByOrganization.get(organizationId) ?? 0;
    const holders = this.#countedBytesByOrganization.size + (held === 0 ? 1 : 0);
    return !hasFairShare({
      held,
      used: Math.max(pending, pendingBytesMax),
      capacity: pendingBytesMax,
      holders,
    });
  }

  /** `bytes`: negative when a write is settled. */
  #count(organizationId: string, bytes: number): void {
    if (bytes === 0) return;
    this.#countedBytes += bytes;
    const counted = (this.#countedBytesByOrganization.get(organizationId) ?? 0) + bytes;
    if (counted === 0) this.#countedBytesByOrganization.delete(organizationId);
    else this.#countedBytesByOrganization.set(organizationId, counted);
  }

  async #run(): Promise<void> {
    // Writes called in the same turn of the event loop join the first group, too.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commitGroup(this.#takeGroup());
    this.#running = null;
  }

  #takeGroup(): PendingWrite[] {
    let bytes = 0;
    let count = 0;
    for (const write of this.#waiting) {
      if (count > 0 && bytes + write.bytes > this.#options.groupBytesMax) break;
      bytes += write.bytes;
      count += 1;
    }
    const group = this.#waiting.splice(0, count);
    this.#waitingBytes -= bytes;
    this.#inFlightBytes = bytes;
    this.#inFlightWrites = count;
    return group;
  }

  async #commitGroup(group: readonly PendingWrite[]): Promise<void> {
    const { getMany, backgroundScheduler } = this.#options;
    const evaluated = await evaluateGroup(group, getMany, backgroundScheduler.slice());
    try {
      if (evaluated.operations.length > 0) {
        await this.#options.commit(evaluated.operations);
        this.#commits += 1;
        for (const { key } of evaluated.operations) this.#revisions[key[0]!]! += 1;
      }
      this.#committedWrites += evaluated.accepted.length;
      this.#notifyWriters(evaluated.accepted);
    } catch (error) {
      this.#failedCommits += 1;
      for (const write of evaluated.accepted) write.reject(error);
      this.#rejectQueued(error);
    } finally {
      for (const [write, error] of evaluated.rejected) write.reject(error);
      for (const { organizationId, countedBytes } of group) this.#count(organizationId, -countedBytes);
      this.#inFlightBytes = 0;
      this.#inFlightWrites = 0;
    }
  }

  #notifyWriters(finished: readonly PendingWrite[]): void {
    for (const write of finished)
      this.#notified = this.#options.backgroundScheduler.yield().then(write.resolve);
  }

  /** Rejects writes queued behind a failed commit, since they may depend on it. */
  #rejectQueued(error: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const write of waiting) {
      this.#count(write.organizationId, -write.countedBytes);
      write.reject(error);
    }
  }
}
