import type { Logger } from '../core/logger.ts';
import { type Collections, getVectorState } from '../storage/collections.ts';
import { tables } from '../storage/keys.ts';
import type { Store } from '../storage/store.ts';

export interface ModelFolderWatcherOptions {
  readonly store: Pick<Store, 'revisionOf'>;
  readonly collections: Pick<Collections, 'listAll'>;
  /** Changes whenever a model is added to the folder or removed from it. */
  readonly readStamp: () => Promise<number>;
  /** Reads the folder. Returns whether the models have changed. */
  readonly reload: () => Promise<boolean>;
  /** Called after the models have changed: collections that wait for a model may continue. */
  readonly onReloaded: () => Promise<void>;
  /** Returns the ids of the models in the folder, as the server uses them. */
  readonly listAddedModels: () => readonly string[];
  /** Writes the number of collections per model that have, or are getting, vectors of the model. */
  readonly writeUsage: (collectionsOf: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Logger;
}

const pollIntervalMs = 1_000;

/**
 * Synchronizes a running server with the folder of added models: added and removed models are detected within
 * a second, and a file in the folder lists the models in use, for operators who want to remove one.
 */
export class ModelFolderWatcher {
  readonly #options: ModelFolderWatcherOptions;
  #stamp = -1;
  #revision = -1;
  #lastUsage = '';
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: ModelFolderWatcherOptions) {
    this.#options = options;
  }

  /** Must be called after all collections are loaded. */
  async start(): Promise<void> {
    this.#stamp = await this.#options.readStamp();
    await this.#poll();
    this.#timer = setInterval(() => {
      this.#polling = this.#polling.then(() => this.#poll());
    }, pollIntervalMs);
    this.#timer.unref();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#polling;
  }

  /** Never rejects: a failed read or write is retried. */
  async #poll(): Promise<void> {
    const { readStamp, reload, onReloaded, logger } = this.#options;
    try {
      const now = await readStamp();
      if (now !== this.#stamp) {
        if (await reload()) {
          this.#revision = -1;
          await onReloaded();
        }
        this.#stamp = now;
      }
      await this.#recordUsage();
    } catch (error) {
      logger.error({ error: String(error) }, 'reloading the models folder failed');
    }
  }

  async #recordUsage(): Promise<void> {
    const { store, collections, listAddedModels, writeUsage } = this.#options;
    const revision = store.revisionOf(tables.collections) + store.revisionOf(tables.vectorStates);
    if (revision === this.#revision) return;
    const counts = new Map<string, number>(listAddedModels().map((id) => [id, 0]));
    for (const collection of counts.size === 0 ? [] : await collections.listAll()) {
      const { model, next } = getVectorState(collection);
      for (const id of new Set([model?.id, next?.model.id])) {
        const count = id === undefined ? undefined : counts.get(id);
        if (count !== undefined) counts.set(id!, count + 1);
      }
    }
    const text = JSON.stringify([...counts]);
    if (text !== this.#lastUsage && (counts.size > 0 || this.#lastUsage !== '')) await writeUsage(counts);
    this.#lastUsage = text;
    this.#revision = revision;
  }
}
