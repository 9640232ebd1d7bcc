import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { AppError } from '../../src/base/app-error.ts';
import { systemChance } from '../../src/base/ids.ts';
import { usualControl } from '../../src/search/query-request.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import type { Operation, Store, WriteOptions } from '../../src/store/store.ts';
import { callerWith } from '../base/caller.ts';
import { openProcess, type ProcessOptions } from '../simulate/process.ts';
import { eventMsMax } from '../waiting.ts';

/** A store whose writes can be held back, refused or lost. */
export class HeldStore implements Store {
  /** What was refused with `failure`: a disk may have kept it all the same. */
  readonly refused: Operation[] = [];
  /** The next writes fail with it. */
  failure: Error | null = null;
  /** Others keep the write queue full: what may be refused is. */
  isQueueFull = false;
  readonly #store: Store;
  #held: Promise<void> | null = null;
  #unreadable: Error | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Writes wait until the answer is called. */
  hold(): () => void {
    let release = () => {};
    this.#held = new Promise((resolve) => {
      release = () => {
        this.#held = null;
        resolve();
      };
    });
    return release;
  }

  /** Reads fail until the answer is called, as while the real one is reopened. */
  refuseReads(): () => void {
    this.#unreadable = new AppError('unavailable', 'The store is being reopened.', { retryAfterMs: 1 });
    return () => {
      this.#unreadable = null;
    };
  }

  get(key: Uint8Array) {
    if (this.#unreadable !== null) throw this.#unreadable;
    return this.#store.get(key);
  }

  getMany(keys: readonly Uint8Array[]) {
    if (this.#unreadable !== null) throw this.#unreadable;
    return this.#store.getMany(keys);
  }

  range(options: Parameters<Store['range']>[0]) {
    return this.#store.range(options);
  }

  async write(operations: readonly Operation[], options?: WriteOptions): Promise<void> {
    await this.#held;
    if (this.failure !== null) {
      this.refused.push(...operations);
      throw this.failure;
    }
    if (this.isQueueFull && options?.mayExceedQueue !== true) {
      throw new AppError('queue_full', 'The write queue is full.', { retryAfterMs: 1 });
    }
    await this.#store.write(operations, options);
  }

  revisionOf(table: number) {
    return this.#store.revisionOf(table);
  }

  statistics() {
    return this.#store.statistics();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export const diskFull = () => new AppError('reserve_reached', 'The disk is full.', { retryAfterMs: 1 });

export const organizationId = '00000000-0000-4000-8000-000000000001';

/** The rooms of a server over a store in memory; `again` opens the next process on the same data. */
export async function rooms(
  t: Test,
  options: Partial<
    Pick<
      ProcessOptions,
      'parse' | 'clock' | 'space' | 'memory' | 'onCut' | 'indexBytes' | 'logger' | 'mayQuote'
    >
  > = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-rooms-'));
  const memory = new MemoryStore();
  // The timers of the rooms keep no process alive, and there is no door here.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => {
    clearInterval(alive);
    rmSync(folder, { recursive: true, force: true });
  });
  const clock = options.clock ?? { now: () => Date.now(), monotonic: () => performance.now() };
  const open = async () => {
    const store = new HeldStore(memory);
    const parse = options.parse ?? (async () => ['a page']);
    const space = options.space ?? { check() {} };
    const process = await openProcess({
      ...options,
      ...{ store, folder, clock, chance: systemChance, parse, space },
    });
    t.teardown(() => process.close());
    return { ...process, store };
  };
  const first = await open();
  await first.addCollection({
    collectionId: systemChance.uuid(),
    organizationId,
    name: 'papers',
    shards: 8,
    createdAt: clock.now(),
  });
  return { ...first, memory, folder, again: open, papers: first.collections.get(organizationId, 'papers')! };
}
export type Rooms = Awaited<ReturnType<typeof rooms>>;

/** A text document as it comes through the door. */
export function textDocument(path: string, text: string, fields: { overwrite?: boolean } = {}) {
  return {
    path,
    metadata: {},
    overwrite: false,
    contentKind: 'text' as const,
    contentType: 'text/plain',
    rawHash: 'ab'.repeat(32),
    size: Buffer.byteLength(text),
    pages: [text],
    ...fields,
  };
}

/** Adds a text and waits until it is indexed or has failed. */
export async function addText(
  process: Pick<Rooms, 'writer' | 'ingest' | 'papers'>,
  path: string,
  text: string,
) {
  const { version } = await process.writer.add(process.papers, textDocument(path, text, { overwrite: true }));
  await process.ingest.settled(version, AbortSignal.timeout(eventMsMax));
}

/** Paths whose passages hold a word. */
export async function find(
  { search, collections, papers }: Pick<Rooms, 'search' | 'collections' | 'papers'>,
  query: string,
): Promise<string[]> {
  const found = await search.snippets({
    collection: collections.byId(papers.collectionId)!,
    query,
    k: 100,
    filter: null,
    reranker: null,
    wide: false,
    deadlineMs: eventMsMax,
    yieldToEventLoop: () => null,
    caller: callerWith(),
    explain: false,
    control: usualControl,
  });
  return found.hits.filter((hit) => hit.snippet.chunk.text.includes(query)).map((hit) => hit.version.path);
}
