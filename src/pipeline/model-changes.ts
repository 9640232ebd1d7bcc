import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../base/app-error.ts';
import { describedError } from '../base/described-error.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { ModelFailed } from '../base/model-failed.ts';
import type { LiveVersions } from '../store/changes.ts';
import {
  beginning,
  type Collection,
  type Collections,
  type NamedVectors,
  succeeded,
  type VectorSet,
  type VectorState,
  vectorsOf,
} from '../store/collections.ts';
import type { Contents } from '../store/content.ts';
import type { Counts } from '../store/counts.ts';
import { ExpectationFailed, type Store } from '../store/store.ts';
import type { Versions } from '../store/versions.ts';
import { allDone } from './all-done.ts';
import type { Indexes } from './indexes.ts';
import type { StoredVectors, VectorMaker } from './stored-vectors.ts';
import type { NotedVersion, Successor } from './successor.ts';

/** A model by name, in one version. */
export interface ModelVersion {
  readonly id: string;
  readonly version: string;
  readonly dimensions: number;
}

export interface ModelChangesOptions {
  readonly store: Store;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly counts: Counts;
  readonly live: LiveVersions;
  readonly indexes: Indexes;
  readonly vectors: StoredVectors;
  /** Throws `ModelUnavailable` while the model that makes these vectors cannot be had. */
  readonly makerOf: (set: VectorSet) => VectorMaker;
  /** The version of a model that has come in the place of this one, where that costs nobody money; else null. */
  readonly renewed: (model: { readonly id: string; readonly version: string }) => ModelVersion | null;
  /** Throws `AppError` while there is no memory or no disk for more. */
  readonly checkRoom: () => void;
  readonly logger: Logger;
  /** Whether the log may hold what documents say: not while an organization has zero data retention. */
  readonly mayQuote: () => boolean;
}

/** How far a change is. */
export interface ChangeProgress {
  readonly model: string;
  /** Documents whose vectors are made, of those that search answers from. */
  readonly done: number;
  readonly total: number;
  /** What it waits for, as a sentence; null while it goes on. */
  readonly trouble: string | null;
}

/** A version that cannot get its vectors yet. */
interface WaitingVersion {
  readonly version: NotedVersion;
  readonly isGone: () => boolean;
}

interface Run {
  readonly collectionId: string;
  done: number;
  /** What it waits for, by the version that does, or for all of it. */
  readonly troubles: Map<number | 'all', string>;
  /** When the log was told last how far it is. */
  toldAt: number;
  /** Ends what runs, so that it looks again at what is wanted. */
  pass: AbortController;
  ended: Promise<void>;
}

/** Milliseconds between two lines of the log. */
const toldEveryMs = 30_000;
/** Documents that are embedded at a time: few, so that ingest and queries hardly feel it. */
const documentsAtOnce = 8;
/** Milliseconds before something is tried again that failed without saying when. */
const retryMs = 5_000;
const retryMsMax = 60_000;
/** Milliseconds between two looks whether a version that waits is still wanted. */
const lookEveryMs = 250;
/** How long changes of documents may have to wait for the last of the catching up; longer with every attempt. */
const stillMsFirst = 1_000;
const stillMsMax = 30_000;
/** Milliseconds between two attempts. */
const stillPauseMs = 50;

/**
 * Gives collections the vectors of another model: makes them of the stored chunks, into shards beside those that go on
 * serving, brings these up to date and lets them take over in one write. What is made is stored, so that a restart only
 * fills the shards again. Afterwards the former vectors are deleted.
 */
export class ModelChanges {
  readonly #options: ModelChangesOptions;
  readonly #runs = new Map<string, Run>();
  #places = documentsAtOnce;
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(options: ModelChangesOptions) {
    this.#options = options;
  }

  /** Goes on with what was begun, and begins where a model has come in a new version. */
  async start(): Promise<void> {
    for (const collection of await this.#options.collections.all()) {
      const { collectionId } = collection;
      try {
        await this.#renew(collection);
      } catch (error) {
        // Nothing is lost: until the next start its queries are answered by words, and say so.
        this.#options.logger.error(
          { collectionId, error: describedError(error, this.#options.mayQuote()) },
          'a change of model could not begin',
        );
      }
      this.look(collectionId);
    }
  }

  /** The state of a collection's vectors has changed: whatever is done for it follows. */
  look(collectionId: string): void {
    if (this.#closed) return;
    const running = this.#runs.get(collectionId);
    if (running !== undefined) {
      running.pass.abort();
      return;
    }
    const run: Run = {
      collectionId,
      done: 0,
      troubles: new Map(),
      toldAt: performance.now(),
      pass: new AbortController(),
      ended: Promise.resolve(),
    };
    this.#runs.set(collectionId, run);
    run.ended = this.#run(run);
  }

  /** Null when the model of the collection is not being changed. */
  progressOf(collection: Collection): ChangeProgress | null {
    const { next } = vectorsOf(collection);
    if (next === null) return null;
    const run = this.#runs.get(collection.collectionId);
    const total = this.#options.counts.get(collection.collectionId).documents.indexed;
    const done = Math.min(run?.done ?? 0, total);
    return { model: next.model.id, done, total, trouble: firstOf(run?.troubles) };
  }

  /** Stops; the next start goes on. Twice is once. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { pass } of this.#runs.values()) pass.abort();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  /** A model that is there in another version only has to make the vectors again. */
  async #renew(collection: Collection): Promise<void> {
    const { store, collections, renewed, logger } = this.#options;
    const state = vectorsOf(collection);
    const wanted = (state.next ?? state).model;
    const model = wanted === null ? null : renewed(wanted);
    if (model === null) return;
    const { collectionId } = collection;
    const begun = collections.putVectors(collectionId, state, beginning(state, model));
    await store.write(begun, { mayUseReserve: true });
    logger.info({ collectionId, model: model.id }, 'the model has a new version: its vectors are made again');
  }

  /** Never rejects. */
  async #run(run: Run): Promise<void> {
    let failures = 0;
    while (!this.#closed) {
      run.pass = new AbortController();
      try {
        if (await this.#step(run)) {
          failures = 0;
          run.troubles.clear();
        } else if (!run.pass.signal.aborted) {
          // In the same turn: whoever looks from now on begins a new run.
          this.#runs.delete(run.collectionId);
          return;
        }
      } catch (error) {
        // The collection is gone, the server closes, or something else is wanted: the next look says which.
        if (run.pass.signal.aborted || error instanceof ExpectationFailed) continue;
        failures += 1;
        await this.#pause(run, error, failures);
      }
    }
  }

  /** A line in the log now and then. */
  #tell(run: Run, collection: Collection): void {
    const now = performance.now();
    if (now - run.toldAt < toldEveryMs) return;
    run.toldAt = now;
    this.#options.logger.info(
      { collectionId: run.collectionId, ...this.progressOf(collection) },
      'vectors of another model are being made',
    );
  }

  /** False when nothing is left to do. */
  async #step(run: Run): Promise<boolean> {
    const { collections, indexes } = this.#options;
    const { collectionId, pass } = run;
    const collection = collections.byId(collectionId);
    if (collection === undefined) return false;
    const state = vectorsOf(collection);
    if (state.next === null && !state.hasRemains) return false;
    // Queries that began before the last change still read what lies where the next vectors go.
    await abortable(indexes.retired(collectionId), pass.signal);
    if (collections.byId(collectionId) === undefined) return false;
    if (state.next === null) await this.#clear(run, collection, state);
    else await this.#change(run, collection, state, state.next);
    return true;
  }

  async #change(run: Run, collection: Collection, state: VectorState, next: NamedVectors): Promise<void> {
    const { store, collections, indexes, live, logger } = this.#options;
    const { collectionId } = collection;
    const { signal } = run.pass;
    logger.info({ collectionId, model: next.model.id }, 'vectors of another model are being made');
    const successor = await indexes.found(collection, next);
    try {
      run.done = 0;
      run.troubles.clear();
      const add = (version: NotedVersion) => this.#add(run, successor, next, version);
      for await (const group of groups(live.list(collectionId))) {
        await allDone(group.map(add));
        run.done += group.length;
        this.#tell(run, collection);
      }
      const catchUp = () => successor.catchUp(add);
      await this.#whenStill(successor, catchUp, signal, (still) => indexes.preserve(successor, still));
      const after = succeeded(state, next);
      const swap = collections.putVectors(collectionId, state, after);
      const write = () => store.write(swap, { mayUseReserve: true });
      await this.#whenStill(successor, catchUp, signal, (still) => indexes.succeed(successor, still, write));
      logger.info({ collectionId, model: next.model.id }, 'the model of a collection has changed');
    } finally {
      await indexes.disown(successor);
    }
  }

  /**
   * Catches up beside the changes of documents, then asks for a moment without any. Where they come faster than their
   * vectors are made they have to wait, the longer the more attempts it takes.
   */
  async #whenStill(
    successor: Successor,
    catchUp: () => Promise<void>,
    signal: AbortSignal,
    act: (still: () => Promise<boolean>) => Promise<boolean>,
  ): Promise<void> {
    for (let ms = stillMsFirst; ; ms = Math.min(stillMsMax, 2 * ms)) {
      await catchUp();
      signal.throwIfAborted();
      let rest = Promise.resolve();
      const still = async () => {
        signal.throwIfAborted();
        rest = catchUp();
        const isTimely = await Promise.race([rest.then(() => true), wait(ms, false, { ref: false })]);
        return isTimely && successor.behind === 0;
      };
      try {
        if (await act(still)) return;
      } finally {
        // Nobody else may touch the successor while this goes on; how it ended is told by the next round.
        await rest.catch(() => {});
      }
      await wait(stillPauseMs, undefined, { signal, ref: false });
    }
  }

  /** Makes the vectors of a version unless they are stored, and shows it. Waits, visibly, while that is not possible. */
  async #add(run: Run, successor: Successor, next: VectorSet, version: NotedVersion): Promise<void> {
    const { signal } = run.pass;
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted();
      try {
        await this.#inPlace(() => this.#embed(run, next, version));
        await successor.add(version, signal);
        run.troubles.delete(version.version);
        return;
      } catch (error) {
        signal.throwIfAborted();
        // Deleted or replaced meanwhile.
        if (successor.isGone(version)) {
          run.troubles.delete(version.version);
          return;
        }
        await this.#pause(run, error, failures, { version, isGone: () => successor.isGone(version) });
      }
    }
  }

  async #embed(run: Run, next: VectorSet, { version, shard }: NotedVersion): Promise<void> {
    const { collections, versions, contents, live, vectors, makerOf, checkRoom } = this.#options;
    const { collectionId, pass } = run;
    checkRoom();
    const record = versions.get(collectionId, version);
    if (record === undefined || contents.hasVectors(record.documentId, next.generation)) return;
    const guard = [collections.expectExists(collectionId), live.expect(collectionId, { version, shard })];
    try {
      await vectors.renew(record.documentId, makerOf(next), { guard, signal: pass.signal });
    } catch (error) {
      // Search does not answer from it any more.
      if (!(error instanceof ExpectationFailed)) throw error;
    }
  }

  /** Deletes the vectors that nobody answers from. */
  async #clear({ pass: { signal } }: Run, { collectionId }: Collection, state: VectorState): Promise<void> {
    const { store, versions, contents, collections } = this.#options;
    const max = limits.sweepOperationsMax;
    for await (const { documentId } of versions.list(collectionId)) {
      for (;;) {
        signal.throwIfAborted();
        const deletes = await contents.deletesBeside(documentId, state.generation, max);
        if (deletes.length > 0)
          await store.write([collections.expectExists(collectionId), ...deletes], { mayUseReserve: true });
        if (deletes.length < max) break;
      }
    }
    const after = { ...state, hasRemains: false };
    await store.write(collections.putVectors(collectionId, state, after), { mayUseReserve: true });
  }

  /** So many documents at a time, of all collections. */
  async #inPlace(work: () => Promise<void>): Promise<void> {
    if (this.#places > 0) this.#places -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#places += 1;
      else next();
    }
  }

  /** Says what is the matter, and waits as long as it asks for, or until the version it is about is gone. */
  async #pause(run: Run, error: unknown, failures: number, at?: WaitingVersion): Promise<void> {
    const asked = error instanceof AppError ? error.options.retryAfterMs : undefined;
    const own = 'The server could not make the new vectors; its log says why.';
    const { collectionId } = run;
    const path = at && this.#options.versions.get(collectionId, at.version.version)?.path;
    const sentence =
      error instanceof AppError ? error.message : error instanceof ModelFailed ? error.sentence : own;
    // What passes by itself is nobody's fault; anything else may be that of one document.
    const isOfDocument = asked === undefined && path !== undefined;
    const words = isOfDocument
      ? `The document ${JSON.stringify(path)} keeps it: ${sentence} It goes on when that can be done, or when the document is replaced or deleted.`
      : sentence;
    run.troubles.set(at?.version.version ?? 'all', words);
    if (asked === undefined)
      this.#options.logger.error(
        { collectionId, error: describedError(error, this.#options.mayQuote()) },
        'changing the model of a collection',
      );
    const ms = asked ?? Math.min(retryMsMax, retryMs * 2 ** (failures - 1));
    const { signal } = run.pass;
    for (let left = ms; left > 0 && !signal.aborted && at?.isGone() !== true; left -= lookEveryMs)
      await wait(Math.min(left, lookEveryMs), undefined, { signal, ref: false }).catch(() => {});
  }
}

function firstOf(troubles: ReadonlyMap<unknown, string> = new Map()): string | null {
  for (const trouble of troubles.values()) return trouble;
  return null;
}

/** Rejects when the signal aborts first. */
async function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const never = { signal: AbortSignal.any([signal, ended.signal]), ref: false };
  const aborted = wait(2 ** 31 - 1, undefined, never);
  aborted.catch(() => {});
  try {
    await Promise.race([work, aborted]);
  } finally {
    ended.abort();
  }
  signal.throwIfAborted();
}

/** The entries in their order, so many at a time. */
async function* groups<T>(entries: AsyncIterable<T>): AsyncGenerator<T[], void, void> {
  let group: T[] = [];
  for await (const entry of entries) {
    group.push(entry);
    if (group.length < documentsAtOnce) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
