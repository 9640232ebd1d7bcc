import { setTimeout as wait } from 'node:timers/promises';
import { Semaphore } from '../core/async/semaphore.ts';
import { waitForAll } from '../core/async/wait-for-all.ts';
import { describedError } from '../core/described-error.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { ModelReference, ModelVersion } from '../core/model-reference.ts';
import type { Indexes } from '../index/indexes.ts';
import type { ReplacementIndex, ShardVersion } from '../index/replacement-index.ts';
import type { ChunkEmbedder, StoredVectors } from '../index/stored-vectors.ts';
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
import type { VersionHistory } from '../storage/version-history.ts';
import type { Versions } from '../storage/versions.ts';
import { type ModelChangeProgress, ModelChangeRun } from './model-change-run.ts';

export interface ModelChangesOptions {
  readonly store: Store;
  readonly collections: Collections;
  readonly versions: Versions;
  readonly contents: Contents;
  readonly counts: Counts;
  readonly history: Pick<VersionHistory, 'start'>;
  readonly live: LiveVersions;
  readonly indexes: Pick<Indexes, 'replacements'>;
  readonly vectors: StoredVectors;
  /** Returns the embedder for a vector set. Throws `ModelUnavailableError` while its model is unavailable. */
  readonly chunkEmbedderOf: (set: VectorSet) => ChunkEmbedder;
  /** Returns the newer version of a model, if there is one and using it is free of charge; else null. */
  readonly findNewerVersion: (model: ModelReference) => ModelVersion | null;
  /** Throws `AppError` while memory or disk space is short. */
  readonly checkCapacity: () => void;
  readonly logger: Logger;
  /** Whether the log may contain document text: not while an organization has zero data retention. */
  readonly mayLogContent: () => boolean;
}

/** Number of documents embedded concurrently: few, to limit the effect on ingest and queries. */
const documentConcurrencyMax = 8;
/**
 * Milliseconds that changes of documents may have to wait for the final catch-up; doubled with every attempt.
 */
const quiesceMsInitial = 1_000;
const quiesceMsMax = 30_000;
/** Milliseconds between two attempts. */
const quiescePauseMs = 50;

/**
 * Changes the embedding model of collections: computes new vectors from the stored chunks in replacement shards
 * while the current ones keep serving, brings the replacement up to date and promotes it in one write. New
 * vectors are stored, so that a restart only fills the shards again. Afterwards the old vectors are deleted.
 */
export class ModelChanges {
  readonly #options: ModelChangesOptions;
  readonly #runs = new Map<string, ModelChangeRun>();
  /** Bounds the number of concurrent documents over all collections. */
  readonly #semaphore = new Semaphore({ permits: documentConcurrencyMax });
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
    const { versions, logger, mayLogContent } = this.#options;
    const run = new ModelChangeRun({ collectionId, versions, logger, mayLogContent });
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
    return { model: next.model.id, done, total, waitReason: run?.waitReason ?? null };
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
          run.clearWaitReasons();
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
        await run.waitForRetry(error, failures);
      }
    }
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
    const { store, collections, live, history, logger } = this.#options;
    const { replacements } = this.#options.indexes;
    const { collectionId } = collection;
    const { signal } = run.passController;
    logger.info({ collectionId, model: next.model.id }, 'model change started');
    const replacement = await replacements.create(collection, next);
    try {
      run.done = 0;
      run.clearWaitReasons();
      const add = (version: ShardVersion) => this.#add(run, replacement, next, version);
      for await (const group of inBatches(live.list(collectionId))) {
        await waitForAll(group.map(add));
        run.done += group.length;
        run.logProgress(() => this.getProgress(collection));
      }
      const catchUp = () => replacement.catchUp(add);
      await this.#runQuiesced(replacement, catchUp, signal, (quiesce) =>
        replacements.persist(replacement, quiesce),
      );
      const after = completeVectorChange(state, next);
      const swap = collections.putVectors(collectionId, state, after);
      // Kept versions have no vectors of the new model.
      const write = () => {
        const restarted = history.start(collections.findById(collectionId) ?? collection);
        return store.write([...swap, ...restarted], { mayUseReserve: true });
      };
      await this.#runQuiesced(replacement, catchUp, signal, (quiesce) =>
        replacements.promote(replacement, quiesce, write),
      );
      logger.info({ collectionId, model: next.model.id }, 'model change completed');
    } finally {
      await replacements.discard(replacement);
    }
  }

  /**
   * Catches up while documents keep changing, then runs `act`, which blocks changes during the final
   * catch-up. If changes arrive faster than their vectors are computed, changes have to wait, longer with
   * every attempt.
   */
  async #runQuiesced(
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
   * Computes the vectors of a version unless they are stored, and adds the version to the replacement.
   * While that is not possible it waits and reports the reason.
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
        await this.#semaphore.run(() => this.#embed(run, next, version));
        await replacement.add(version, signal);
        run.clearWaitReason(version);
        return;
      } catch (error) {
        signal.throwIfAborted();
        // Deleted or replaced meanwhile.
        if (replacement.isRemoved(version)) {
          run.clearWaitReason(version);
          return;
        }
        await run.waitForRetry(error, failures, {
          version,
          isRemoved: () => replacement.isRemoved(version),
        });
      }
    }
  }

  async #embed(run: ModelChangeRun, next: VectorSet, { version, shard }: ShardVersion): Promise<void> {
    const { collections, versions, contents, live, vectors, chunkEmbedderOf, checkCapacity } = this.#options;
    const { collectionId, passController } = run;
    checkCapacity();
    const record = versions.get(collectionId, version);
    if (record === undefined || contents.blocks.hasVectors(record.documentId, next.generation)) return;
    const expectations = [
      collections.expectExists(collectionId),
      live.expect(collectionId, { version, shard }),
    ];
    try {
      await vectors.rebuild(record.documentId, chunkEmbedderOf(next), {
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
