import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { ExpectationFailedError, encodeCounters, readCounters, type WriteOperation } from './store.ts';

export type PlainOperation = Extract<WriteOperation, { type: 'put' | 'delete' }>;

/** Returns the values as of the last finished commit, in the order of `keys`. */
export type ReadKeys = (keys: readonly Uint8Array[]) => readonly (Uint8Array | undefined)[];

/** Operations that must be applied all or not at all. */
interface OperationGroup {
  readonly operations: readonly WriteOperation[];
}

export interface EvaluationResult<Write extends OperationGroup> {
  readonly operations: PlainOperation[];
  readonly accepted: Write[];
  readonly rejected: [Write, unknown][];
}

/**
 * Evaluates the expectations and additions of a group against the store plus the group's own earlier
 * operations. Yields between the writes of a large group: the store does not change meanwhile, because only
 * groups change it.
 */
export async function evaluateGroup<Write extends OperationGroup>(
  group: readonly Write[],
  getMany: ReadKeys,
  yieldToEventLoop: YieldToEventLoop,
): Promise<EvaluationResult<Write>> {
  const overlay = await Overlay.open(group, getMany, yieldToEventLoop);
  const evaluated: EvaluationResult<Write> = { operations: [], accepted: [], rejected: [] };
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
  readonly #getMany: ReadKeys;

  static async open(
    group: readonly OperationGroup[],
    getMany: ReadKeys,
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

  private constructor(group: readonly OperationGroup[], getMany: ReadKeys) {
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
