import type { Logger } from '../base/logger.ts';
import { type Collections, vectorsOf } from '../store/collections.ts';
import { tables } from '../store/keys.ts';
import type { Store } from '../store/store.ts';

export interface ModelFolderWatchOptions {
  readonly store: Pick<Store, 'revisionOf'>;
  readonly collections: Pick<Collections, 'all'>;
  /** Changes whenever a model is added to the folder or removed from it. */
  readonly stamp: () => Promise<number>;
  /** Reads the folder. Answers whether that made a difference. */
  readonly reload: () => Promise<boolean>;
  /** The models in it are others now: collections that wait for one may go on. */
  readonly onReloaded: () => Promise<void>;
  /** Names of the models in the folder, as the server knows them. */
  readonly added: () => readonly string[];
  /** How many collections have vectors of each model, or are getting them. */
  readonly note: (collectionsOf: ReadonlyMap<string, number>) => Promise<void>;
  readonly logger: Logger;
}

const lookEveryMs = 1_000;

/**
 * Keeps a running server and the folder of added models in step: models that come or go are known within a second, and
 * a note in the folder says which of them collections need, for whoever wants to remove one.
 */
export class ModelFolderWatch {
  readonly #options: ModelFolderWatchOptions;
  #stamp = -1;
  #revision = -1;
  #noted = '';
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ModelFolderWatchOptions) {
    this.#options = options;
  }

  /** Every collection is known by now. */
  async start(): Promise<void> {
    this.#stamp = await this.#options.stamp();
    await this.#look();
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, lookEveryMs);
    this.#timer.unref();
  }

  /** Twice is once. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#looking;
  }

  /** Never rejects: what could not be read or written now is tried again. */
  async #look(): Promise<void> {
    const { stamp, reload, onReloaded, logger } = this.#options;
    try {
      const now = await stamp();
      if (now !== this.#stamp) {
        if (await reload()) {
          this.#revision = -1;
          await onReloaded();
        }
        this.#stamp = now;
      }
      await this.#noteUse();
    } catch (error) {
      logger.error({ error: String(error) }, 'the folder of added models could not be brought in step');
    }
  }

  async #noteUse(): Promise<void> {
    const { store, collections, added, note } = this.#options;
    const revision = store.revisionOf(tables.collections) + store.revisionOf(tables.vectorStates);
    if (revision === this.#revision) return;
    const counts = new Map<string, number>(added().map((id) => [id, 0]));
    for (const collection of counts.size === 0 ? [] : await collections.all()) {
      const { model, next } = vectorsOf(collection);
      for (const id of new Set([model?.id, next?.model.id])) {
        const count = id === undefined ? undefined : counts.get(id);
        if (count !== undefined) counts.set(id!, count + 1);
      }
    }
    const text = JSON.stringify([...counts]);
    if (text !== this.#noted && (counts.size > 0 || this.#noted !== '')) await note(counts);
    this.#noted = text;
    this.#revision = revision;
  }
}
