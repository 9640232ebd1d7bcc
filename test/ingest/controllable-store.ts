import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { Store, WriteOperation, WriteOptions } from '../../src/storage/store.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import { openServerComponents, type ServerComponentsOptions } from '../simulate/server-components.ts';
import type { Test } from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';

/** Store whose writes can be held back, refused or lost. */
export class ControllableStore implements Store {
  /** Operations rejected with `nextFailure`; a disk may have written them nevertheless. */
  readonly failedOperations: WriteOperation[] = [];
  /** Error with which the next writes fail. */
  nextFailure: Error | null = null;
  /** Simulates a full write queue: refuses every write that may be refused. */
  isQueueFull = false;
  readonly #store: Store;
  #writeGate: Promise<void> | null = null;
  #readFailure: Error | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Holds writes until the returned function is called. */
  holdWrites(): () => void {
    let release = () => {};
    this.#writeGate = new Promise((resolve) => {
      release = () => {
        this.#writeGate = null;
        resolve();
      };
    });
    return release;
  }

  /** Makes reads fail until the returned function is called, as while the real store is reopened. */
  failReads(): () => void {
    this.#readFailure = new AppError('unavailable', 'The store is being reopened.', { retryAfterMs: 1 });
    return () => {
      this.#readFailure = null;
    };
  }

  get(key: Uint8Array) {
    if (this.#readFailure !== null) throw this.#readFailure;
    return this.#store.get(key);
  }

  getMany(keys: readonly Uint8Array[]) {
    if (this.#readFailure !== null) throw this.#readFailure;
    return this.#store.getMany(keys);
  }

  range(options: Parameters<Store['range']>[0]) {
    return this.#store.range(options);
  }

  async write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    await this.#writeGate;
    if (this.nextFailure !== null) {
      this.failedOperations.push(...operations);
      throw this.nextFailure;
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

  snapshot() {
    return this.#store.snapshot();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export const diskFullError = () => new AppError('reserve_reached', 'The disk is full.', { retryAfterMs: 1 });

export const organizationId = '00000000-0000-4000-8000-000000000001';

/** Modules of a server over an in-memory store; `again` opens the next process on the same data. */
export async function openComponents(
  t: Test,
  options: Partial<
    Pick<
      ServerComponentsOptions,
      'parse' | 'clock' | 'space' | 'memory' | 'onChunk' | 'indexBytes' | 'logger' | 'mayLogContent'
    >
  > = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-components-'));
  const memory = new MemoryStore();
  // The modules' timers do not keep the process alive, and this fixture has no HTTP server.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => {
    clearInterval(alive);
    rmSync(folder, { recursive: true, force: true });
  });
  const clock = options.clock ?? { now: () => Date.now(), monotonic: () => performance.now() };
  const open = async () => {
    const store = new ControllableStore(memory);
    const parse = options.parse ?? (async () => ['a page']);
    const space = options.space ?? { check() {} };
    const process = await openServerComponents({
      ...options,
      store,
      folder,
      clock,
      random: systemRandom,
      parse,
      space,
    });
    t.teardown(() => process.close());
    return { ...process, store };
  };
  const first = await open();
  await first.addCollection({
    collectionId: systemRandom.uuid(),
    organizationId,
    name: 'papers',
    shards: 8,
    createdAt: clock.now(),
  });
  return { ...first, memory, folder, again: open, papers: first.collections.find(organizationId, 'papers')! };
}
export type IngestComponents = Awaited<ReturnType<typeof openComponents>>;

/** Text document as parsed from a request. */
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
export async function ingestText(
  process: Pick<IngestComponents, 'writer' | 'ingest' | 'papers'>,
  path: string,
  text: string,
) {
  const { version } = await process.writer.add(process.papers, textDocument(path, text, { overwrite: true }));
  await process.ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
}

/** Paths of the documents with snippets that contain a word. */
export async function searchText(
  { search, collections, papers }: Pick<IngestComponents, 'search' | 'collections' | 'papers'>,
  query: string,
): Promise<string[]> {
  const found = await search.searchSnippets({
    collection: collections.findById(papers.collectionId)!,
    query,
    k: 100,
    filter: null,
    reranker: null,
    isWide: false,
    deadlineMs: testEventMsMax,
    yieldToEventLoop: () => null,
    caller: cancellationTokenWith(),
    explain: false,
    control: defaultControl,
  });
  return found.hits.filter((hit) => hit.snippet.text.includes(query)).map((hit) => hit.version.path);
}
