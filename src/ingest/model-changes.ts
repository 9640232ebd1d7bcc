import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import { waitForAll } from '../core/async/wait-for-all.ts';
import { describedError } from '../core/described-error.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { ModelError } from '../core/model-error.ts';
import type { Indexes } from '../index/indexes.ts';
import type { ReplacementIndex, ShardVersion } from '../index/replacement-index.ts';
import type { StoredVectors, VectorMaker } from '../index/stored-vectors.ts';
import type { LiveVersions } from '../storage/changes.ts';
import {
  type Collection,
  type Collections,
  completeVectorChange,
  getVectorState,
  type ModelVectorSet,
  startVectorChange,
  type VectorSet,
  type VectorState,
} from '../storage/collections.ts';
import type { Contents } from '../storage/content.ts';
import type { Counts } from '../storage/counts.ts';
import { ExpectationFailedError, type Store } from '../storage/store.ts';
import type { Versions } from '../storage/versions.ts';

/** A model name with a version. */
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
  /** Returns the embedder for a vector set. Throws `ModelUnavailableError` while its model is unavailable. */
  readonly vectorMakerOf: (set: VectorSet) => VectorMaker;
  /** Returns the newer version of a model, if there is one and using it is free of charge; else null. */
  readonly findNewerVersion: (model: {
    readonly id: string;
    readonly version: string;
  }) => ModelVersion | null;
  /** Throws `AppError` while memory or disk space is short. */
  readonly checkCapacity: () => void;
  readonly logger: Logger;
  /** Whether the log may contain document text: not while an organization has zero data retention. */
  readonly mayLogContent: () => boolean;
}

/** Progress of a change of model. */
export interface ModelChangeProgress {
  readonly model: string;
  /** Number of live documents whose vectors are done. */
  readonly done: number;
  readonly total: number;
  /** Reason for waiting, as a sentence; null while it progresses. */
  readonly waitReason: string | null;
}

/** A version whose vectors cannot be made yet. */
interface PendingVersion {
  readonly version: ShardVersion;
  readonly isRemoved: () => boolean;
}

interface ModelChangeRun {
  readonly collectionId: string;
  done: number;
  /** Reasons for waiting, by version or for the whole change. */
  readonly waitReasons: Map<number | 'all', string>;
  /** Time of the last progress line in the log. */
  loggedAt: number;
  /** Aborts the current pass, so that the run reads the target state again. */
  passController: AbortController;
  ended: Promise<void>;
}

/** Milliseconds between two progress lines in the log. */
const logIntervalMs = 30_000;
/** Number of documents embedded concurrently: few, to limit the effect on ingest and queries. */
const documentConcurrencyMax = 8;
/**
 * Milliseconds before retrying an operation that failed without a `retryAfterMs`; doubled with each failure
 * up to the maximum.
 */
const retryMs = 5_000;
const retryMsMax = 60_000;
/** Milliseconds between checks whether a waiting version is still needed. */
const pollIntervalMs = 250;
/**
 * Milliseconds that changes of documents may have to wait for the final catch-up; doubled with every attempt.
 */
const quiesceMsInitial = 1_000;
const quiesceMsMax = 30_000;
/** Milliseconds between two attempts. */
const quiescePauseMs = 50;

/**
 * Changes the embedding model of collections: makes new vectors from the stored chunks in replacement shards
 * while the current ones keep serving, brings the replacement up to date and promotes it in one write. New
 * vectors are stored, so that a restart only fills the shards again. Afterwards the old vectors are deleted.
 */
export class ModelChanges {
  readonly #options: ModelChangesOptions;
  readonly #runs = new Map<string, ModelChangeRun>();
  #freeSlots = documentConcurrencyMax;
  readonly #waiters: (() => void)[] = [];
  #closed = false;

  constructor(options: ModelChangesOptions) {
    this.#options = options;
  }

  /** Resumes unfinished changes, and starts a change for each collection whose model has a new version. */
  async start(): Promise<void> {
    for (const collection of await this.#options.collections.listAll()) {
      const { collectionId } = collection;
      try {
        await this.#startRenewal(collection);
      } catch (error) {
        // No data is lost: until the next start, queries of the collection use lexical search only and report
        // it.
        this.#options.logger.error(
          { collectionId, error: describedError(error, this.#options.mayLogContent()) },
          'model change failed to start',
        );
      }
      this.refresh(collectionId);
    }
  }

  /** Must be called when the vector state of a collection has changed; running work adapts to it. */
  refresh(collectionId: string): void {
    if (this.#closed) return;
    const running = this.#runs.get(collectionId);
    if (running !== undefined) {
      running.passController.abort();
      return;
    }
    const run: ModelChangeRun = {
      collectionId,
      done: 0,
      waitReasons: new Map(),
      loggedAt: performance.now(),
      passController: new AbortController(),
      ended: Promise.resolve(),
    };
    this.#runs.set(collectionId, run);
    run.ended = this.#run(run);
  }

  /** Returns the progress; null when the model of the collection is not being changed. */
  getProgress(collection: Collection): ModelChangeProgress | null {
    const { next } = getVectorState(collection);
    if (next === null) return null;
    const run = this.#runs.get(collection.collectionId);
    const total = this.#options.counts.get(collection.collectionId).documents.indexed;
    const done = Math.min(run?.done ?? 0, total);
    return { model: next.model.id, done, total, waitReason: firstReason(run?.waitReasons) };
  }

  /** Stops; the next start resumes. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { passController } of this.#runs.values()) passController.abort();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  /** Starts a change to a newer version of the same model, which only has to recompute the vectors. */
  async #startRenewal(collection: Collection): Promise<void> {
    const { store, collections, findNewerVersion, logger } = this.#options;
    const state = getVectorState(collection);
    const currentModel = (state.next ?? state).model;
    const model = currentModel === null ? null : findNewerVersion(currentModel);
    if (model === null) return;
    const { collectionId } = collection;
    const operations = collections.putVectors(collectionId, state, startVectorChange(state, model));
    await store.write(operations, { mayUseReserve: true });
    logger.info({ collectionId, model: model.id }, 'model has a new version, re-embedding started');
  }

  /** Never rejects. */
  async #run(run: ModelChangeRun): Promise<void> {
    let failures = 0;
    while (!this.#closed) {
      run.passController = new AbortController();
      try {
        if (await this.#step(run)) {
          failures = 0;
          run.waitReasons.clear();
        } else if (!run.passController.signal.aborted) {
          // Deleted in the same turn of the event loop: a later `refresh` starts a new run.
          this.#runs.delete(run.collectionId);
          return;
        }
      } catch (error) {
        // The collection was deleted, the server is closing, or the target state has changed: the next
        // iteration finds out which.
        if (run.passController.signal.aborted || error instanceof ExpectationFailedError) continue;
        failures += 1;
        await this.#waitToRetry(run, error, failures);
      }
    }
  }

  /** Logs the progress at most every `logIntervalMs`. */
  #logProgress(run: ModelChangeRun, collection: Collection): void {
    const now = performance.now();
    if (now - run.loggedAt < logIntervalMs) return;
    run.loggedAt = now;
    this.#options.logger.info(
      { collectionId: run.collectionId, ...this.getProgress(collection) },
      'model change in progress',
    );
  }

  /** Performs the next step. Returns false when nothing is left to do. */
  async #step(run: ModelChangeRun): Promise<boolean> {
    const { collections, indexes } = this.#options;
    const { collectionId, passController } = run;
    const collection = collections.findById(collectionId);
    if (collection === undefined) return false;
    const state = getVectorState(collection);
    if (state.next === null && !state.hasRemains) return false;
    // Queries that began before the last change still read the vectors that the next ones would overwrite.
    await abortable(indexes.replacements.waitUntilDropped(collectionId), passController.signal);
    if (collections.findById(collectionId) === undefined) return false;
    if (state.next === null) await this.#deleteOldVectors(run, collection, state);
    else await this.#changeModel(run, collection, state, state.next);
    return true;
  }

  async #changeModel(
    run: ModelChangeRun,
    collection: Collection,
    state: VectorState,
    next: ModelVectorSet,
  ): Promise<void> {
    const { store, collections, indexes, live, logger } = this.#options;
    const { collectionId } = collection;
    const { signal } = run.passController;
    logger.info({ collectionId, model: next.model.id }, 'model change started');
    const replacement = await indexes.replacements.create(collection, next);
    try {
      run.done = 0;
      run.waitReasons.clear();
      const add = (version: ShardVersion) => this.#add(run, replacement, next, version);
      for await (const group of inBatches(live.list(collectionId))) {
        await waitForAll(group.map(add));
        run.done += group.length;
        this.#logProgress(run, collection);
      }
      const catchUp = () => replacement.catchUp(add);
      await this.#whenQuiesced(replacement, catchUp, signal, (quiesce) =>
        indexes.replacements.persist(replacement, quiesce),
      );
      const after = completeVectorChange(state, next);
      const swap = collections.putVectors(collectionId, state, after);
      const write = () => store.write(swap, { mayUseReserve: true });
      await this.#whenQuiesced(replacement, catchUp, signal, (still) =>
        indexes.replacements.promote(replacement, still, write),
      );
      logger.info({ collectionId, model: next.model.id }, 'model change completed');
    } finally {
      await indexes.replacements.discard(replacement);
    }
  }

  /**
   * Catches up while documents keep changing, then runs `act`, which blocks changes during the final
   * catch-up. If changes arrive faster than their vectors are made, changes have to wait, longer with every
   * attempt.
   */
  async #whenQuiesced(
    replacement: ReplacementIndex,
    catchUp: () => Promise<void>,
    signal: AbortSignal,
    act: (quiesce: () => Promise<boolean>) => Promise<boolean>,
  ): Promise<void> {
    for (let ms = quiesceMsInitial; ; ms = Math.min(quiesceMsMax, 2 * ms)) {
      await catchUp();
      signal.throwIfAborted();
      let catchingUp = Promise.resolve();
      const quiesce = async () => {
        signal.throwIfAborted();
        catchingUp = catchUp();
        const isInTime = await Promise.race([catchingUp.then(() => true), wait(ms, false, { ref: false })]);
        return isInTime && replacement.pendingCount === 0;
      };
      try {
        if (await act(quiesce)) return;
      } finally {
        // No other code may touch the replacement while this runs; the next round reports its outcome.
        await catchingUp.catch(() => {});
      }
      await wait(quiescePauseMs, undefined, { signal, ref: false });
    }
  }

  /**
   * Makes the vectors of a version unless they are stored, and adds the version to the replacement. While
   * that is not possible it waits and reports the reason.
   */
  async #add(
    run: ModelChangeRun,
    replacement: ReplacementIndex,
    next: VectorSet,
    version: ShardVersion,
  ): Promise<void> {
    const { signal } = run.passController;
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted();
      try {
        await this.#withSlot(() => this.#embed(run, next, version));
        await replacement.add(version, signal);
        run.waitReasons.delete(version.version);
        return;
      } catch (error) {
        signal.throwIfAborted();
        // Deleted or replaced meanwhile.
        if (replacement.isRemoved(version)) {
          run.waitReasons.delete(version.version);
          return;
        }
        await this.#waitToRetry(run, error, failures, {
          version,
          isRemoved: () => replacement.isRemoved(version),
        });
      }
    }
  }

  async #embed(run: ModelChangeRun, next: VectorSet, { version, shard }: ShardVersion): Promise<void> {
    const { collections, versions, contents, live, vectors, vectorMakerOf, checkCapacity } = this.#options;
    const { collectionId, passController } = run;
    checkCapacity();
    const record = versions.get(collectionId, version);
    if (record === undefined || contents.blocks.hasVectors(record.documentId, next.generation)) return;
    const expectations = [
      collections.expectExists(collectionId),
      live.expect(collectionId, { version, shard }),
    ];
    try {
      await vectors.rebuild(record.documentId, vectorMakerOf(next), {
        expectations,
        signal: passController.signal,
      });
    } catch (error) {
      // The version is no longer live.
      if (!(error instanceof ExpectationFailedError)) throw error;
    }
  }

  /** Deletes the vectors that are no longer searched. */
  async #deleteOldVectors(
    { passController: { signal } }: ModelChangeRun,
    { collectionId }: Collection,
    state: VectorState,
  ): Promise<void> {
    const { store, versions, contents, collections } = this.#options;
    const max = limits.sweepOperationsMax;
    for await (const { documentId } of versions.list(collectionId)) {
      for (;;) {
        signal.throwIfAborted();
        const deletes = await contents.blocks.deleteOtherGeneration(documentId, state.generation, max);
        if (deletes.length > 0)
          await store.write([collections.expectExists(collectionId), ...deletes], { mayUseReserve: true });
        if (deletes.length < max) break;
      }
    }
    const after = { ...state, hasRemains: false };
    await store.write(collections.putVectors(collectionId, state, after), { mayUseReserve: true });
  }

  /** Bounds the number of concurrent documents over all collections. */
  async #withSlot(work: () => Promise<void>): Promise<void> {
    if (this.#freeSlots > 0) this.#freeSlots -= 1;
    else await new Promise<void>((resolve) => this.#waiters.push(resolve));
    try {
      await work();
    } finally {
      const next = this.#waiters.shift();
      if (next === undefined) this.#freeSlots += 1;
      else next();
    }
  }

  /**
   * Records the reason and waits for `retryAfterMs` or the backoff, or until the affected version is removed.
   */
  async #waitToRetry(
    run: ModelChangeRun,
    error: unknown,
    failures: number,
    pendingVersion?: PendingVersion,
  ): Promise<void> {
    const retryAfterMs = error instanceof AppError ? error.options.retryAfterMs : undefined;
    const internalFailureMessage = 'Re-embedding failed because of an internal error. See the server log.';
    const { collectionId } = run;
    const path =
      pendingVersion && this.#options.versions.get(collectionId, pendingVersion.version.version)?.path;
    const message =
      error instanceof AppError
        ? error.message
        : error instanceof ModelError
          ? error.publicMessage
          : internalFailureMessage;
    // A temporary error has a general cause; any other may be caused by one document.
    const isDocumentError = retryAfterMs === undefined && path !== undefined;
    const waitReason = isDocumentError
      ? `The document ${JSON.stringify(path)} blocks the model change: ${message} The change continues when the document can be embedded, is replaced or is deleted.`
      : message;
    run.waitReasons.set(pendingVersion?.version.version ?? 'all', waitReason);
    if (retryAfterMs === undefined)
      this.#options.logger.error(
        { collectionId, error: describedError(error, this.#options.mayLogContent()) },
        'model change step failed',
      );
    const ms = retryAfterMs ?? Math.min(retryMsMax, retryMs * 2 ** (failures - 1));
    const { signal } = run.passController;
    for (
      let left = ms;
      left > 0 && !signal.aborted && pendingVersion?.isRemoved() !== true;
      left -= pollIntervalMs
    )
      await wait(Math.min(left, pollIntervalMs), undefined, { signal, ref: false }).catch(() => {});
  }
}

function firstReason(waitReasons: ReadonlyMap<unknown, string> = new Map()): string | null {
  for (const reason of waitReasons.values()) return reason;
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

/** Yields the entries in order, in batches of `documentConcurrencyMax`. */
async function* inBatches<T>(entries: AsyncIterable<T>): AsyncGenerator<T[], void, void> {
  let group: T[] = [];
  for await (const entry of entries) {
    group.push(entry);
    if (group.length < documentConcurrencyMax) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
