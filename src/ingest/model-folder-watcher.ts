import type { Logger } from '../core/logger.ts';
import { type Collections, getVectorState } from '../storage/collections.ts';
import { tables } from '../storage/keys.ts';
import type { Store } from '../storage/store.ts';

export interface ModelFolderWatcherOptions {
  readonly store: Pick<Store, 'revisionOf'>;
  readonly collections: Pick<Collections, 'listAll'>;
  /** Changes whenever a model is added to the folder or removed from it. */
  readonly readStamp: () => Promise<number>;
  /** Reads the folder. Answers whether that made a difference. */
  readonly reload: () => Promise<boolean>;
  /** The models in it are others now: collections that wait for one may go on. */
  readonly onReloaded: () => Promise<void>;
  /** Names of the models in the folder, as the server knows them. */
  readonly listAddedModels: () => readonly string[];
  /** How many collections have vectors of each model, or are getting them. */
  readonly writeUsage: (collectionsOf: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Logger;
}

const pollIntervalMs = 1_000;

/**
 * Keeps a running server and the folder of added models in step: models that come or go are known within a second, and
 * a note in the folder says which of them collections need, for whoever wants to remove one.
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

  /** Every collection is known by now. */
  async start(): Promise<void> {
    this.#stamp = await this.#options.readStamp();
    await this.#poll();
    this.#timer = setInterval(() => {
      this.#polling = this.#polling.then(() => this.#poll());
    }, pollIntervalMs);
    this.#timer.unref();
  }

  /** Twice is once. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#polling;
  }

  /** Never rejects: what could not be read or written now is tried again. */
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
      logger.error({ error: String(error) }, 'the folder of added models could not be brought in step');
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
