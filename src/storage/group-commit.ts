import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { hasFairShare } from '../core/async/fair-share.ts';
import {
  ExpectationFailedError,
  encodeCounters,
  type FreeSpaceCheck,
  operationsBytes,
  readCounters,
  storeClosed,
  type WriteOperation,
  type WriteOptions,
} from './store.ts';

export type PlainOperation = Extract<WriteOperation, { type: 'put' | 'delete' }>;

export interface GroupCommitOptions {
  /** Returns the values as of the last finished commit, in the order of `keys`. */
  readonly getMany: (keys: readonly Uint8Array[]) => readonly (Uint8Array | undefined)[];
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
    if (this.#closed) return storeClosed();
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
    const evaluated = await evaluate(group, getMany, backgroundScheduler.slice());
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

interface EvaluationResult {
  readonly operations: PlainOperation[];
  readonly accepted: PendingWrite[];
  readonly rejected: [PendingWrite, unknown][];
}

/**
 * Evaluates the expectations and additions of a group against the store plus the group's own earlier
 * operations. Yields between the writes of a large group: the store does not change meanwhile, because only
 * groups change it.
 */
async function evaluate(
  group: readonly PendingWrite[],
  getMany: GroupCommitOptions['getMany'],
  yieldToEventLoop: YieldToEventLoop,
): Promise<EvaluationResult> {
  const overlay = await Overlay.open(group, getMany, yieldToEventLoop);
  const evaluated: EvaluationResult = { operations: [], accepted: [], rejected: [] };
  for (const write of group) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    try {
      const plain = evaluateWrite(write.operations, overlay);
      for (const operation of plain) evaluated.operations.push(operation);
      evaluated.accepted.push(write);
    } catch (error) {
      evaluated.rejected.push([write, error]);
    }
  }
  for (const total of overlay.totals()) evaluated.operations.push(total);
  return evaluated;
}

function evaluateWrite(operations: readonly WriteOperation[], overlay: Overlay): PlainOperation[] {
  // All reads happen before anything is applied: a write that cannot be evaluated has no effect.
  for (const operation of operations) {
    if (operation.type === 'add' || operation.type === 'append') overlay.load(operation.key);
    if (operation.type !== 'expect') continue;
    if (!operation.holds(overlay.get(operation.key))) throw new ExpectationFailedError(operation.description);
  }
  const plain: PlainOperation[] = [];
  for (const operation of operations) {
    if (operation.type === 'expect') continue;
    if (operation.type === 'add') {
      overlay.add(operation);
      continue;
    }
    const applied = operation.type === 'append' ? numberEntry(operation, overlay) : operation;
    if (applied === null) continue;
    overlay.apply(applied);
    plain.push(applied);
  }
  return plain;
}

/** Returns null if the counter does not exist. */
function numberEntry(
  { key, entry }: Extract<WriteOperation, { type: 'append' }>,
  overlay: Overlay,
): PlainOperation | null {
  const number = overlay.increment(key);
  return number === null ? null : { type: 'put', ...entry(number) };
}

interface Counters {
  readonly key: Uint8Array;
  readonly totals: number[];
}

/** Maximum number of keys per read: less than a millisecond. */
const keysReadMax = 128;

/** The store as seen by the next write of the group; only keys read by operations of the group are tracked. */
class Overlay {
  readonly #neededKeys: ReadonlyMap<string, Uint8Array>;
  /** 1 for tables with a tracked key: most operations write to other tables. */
  readonly #neededTables = new Uint8Array(256);
  readonly #values = new Map<string, Uint8Array | undefined>();
  /** Counters not overwritten since the group added to them; they are written once, at the end. */
  readonly #counters = new Map<string, Counters>();
  readonly #getMany: GroupCommitOptions['getMany'];

  static async open(
    group: readonly PendingWrite[],
    getMany: GroupCommitOptions['getMany'],
    yieldToEventLoop: YieldToEventLoop,
  ): Promise<Overlay> {
    const overlay = new Overlay(group, getMany);
    const keys = [...overlay.#neededKeys];
    for (let i = 0; i < keys.length; i += keysReadMax) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      overlay.#prefetch(keys.slice(i, i + keysReadMax));
    }
    return overlay;
  }

  private constructor(group: readonly PendingWrite[], getMany: GroupCommitOptions['getMany']) {
    this.#getMany = getMany;
    const keys = new Map<string, Uint8Array>();
    for (const write of group) {
      for (const operation of write.operations) {
        if (operation.type === 'put' || operation.type === 'delete') continue;
        keys.set(toKeyText(operation.key), operation.key);
        this.#neededTables[operation.key[0]!] = 1;
      }
    }
    this.#neededKeys = keys;
  }

  /** Reads many keys in one call, which is far cheaper than one call per key. */
  #prefetch(keys: readonly (readonly [string, Uint8Array])[]): void {
    try {
      const values = this.#getMany(keys.map(([, key]) => key));
      for (const [i, [text]] of keys.entries()) this.#values.set(text, values[i]);
    } catch {
      // Each key is then read separately when its write is applied: an unreadable key fails only its own
      // write.
    }
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const text = toKeyText(key);
    const counters = this.#counters.get(text);
    if (counters !== undefined) return encodeCounters(counters.totals);
    return this.#read(text, key);
  }

  /** Reads the value that an addition to this key needs. Throws if the store cannot be read. */
  load(key: Uint8Array): void {
    this.#read(toKeyText(key), key);
  }

  apply(operation: PlainOperation): void {
    if (this.#neededTables[operation.key[0]!] === 0) return;
    const text = toKeyText(operation.key);
    if (!this.#neededKeys.has(text)) return;
    this.#counters.delete(text);
    this.#values.set(text, operation.type === 'put' ? operation.value : undefined);
  }

  add({ key, amounts }: Extract<WriteOperation, { type: 'add' }>): void {
    const text = toKeyText(key);
    const { totals } = this.#counters.get(text) ?? this.#track(text, key, this.#read(text, key));
    amounts.forEach((amount, i) => {
      totals[i] = (totals[i] ?? 0) + amount;
    });
  }

  /** Adds 1 to the first counter and returns it; null if the counter does not exist. */
  increment(key: Uint8Array): number | null {
    const text = toKeyText(key);
    let counters = this.#counters.get(text);
    if (counters === undefined) {
      const stored = this.#read(text, key);
      if (stored === undefined) return null;
      counters = this.#track(text, key, stored);
    }
    const next = (counters.totals[0] ?? 0) + 1;
    counters.totals[0] = next;
    return next;
  }

  #track(text: string, key: Uint8Array, stored: Uint8Array | undefined): Counters {
    const counters = { key, totals: readCounters(stored, (stored?.byteLength ?? 0) / 8) };
    this.#counters.set(text, counters);
    return counters;
  }

  /** Returns the totals of the group's additions as operations. */
  totals(): PlainOperation[] {
    return Array.from(this.#counters.values(), ({ key, totals }) => {
      const value = encodeCounters(totals);
      return { type: 'put', key, value };
    });
  }

  #read(text: string, key: Uint8Array): Uint8Array | undefined {
    if (!this.#values.has(text)) this.#values.set(text, this.#getMany([key])[0]);
    return this.#values.get(text);
  }
}

/** Returns a key as a string with one code unit per byte, so that string order equals byte order. */
export function toKeyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
