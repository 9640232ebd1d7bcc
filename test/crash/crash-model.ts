import { setTimeout as wait } from 'node:timers/promises';
import type { TestRandom } from '../storage/test-random.ts';
import { type CrashDocument, DocumentGenerator, type ModelMetadata } from './documents.ts';
import { type CrashReply, ServerGoneError, type ServerProcess } from './server.ts';

/** Possible states of a path: one after a reply, two while a reply is outstanding; null is no document. */
type PossibleStates = readonly (CrashDocument | null)[];

export interface CrashCollection {
  readonly name: string;
  /** Whether the collection exists; two entries while a reply is outstanding. */
  possibleExists: readonly boolean[];
  readonly paths: Map<string, PossibleStates>;
  /** Embedding model; two entries while a model change is unacknowledged. */
  possibleModels: readonly string[];
  /** Whether a model change was acknowledged since the last check: vectors may be of either model. */
  isModelChanging: boolean;
  /** Number of requests in flight that touch its documents. */
  activeRequests: number;
  /** Whether it is being created or deleted: no other request touches it. */
  isExclusive: boolean;
}

/** Text that search must never return again. */
export interface RemovedText {
  readonly collection: string;
  readonly marker: string;
}

export const builtInModel = 'zembed-1';
const shardCounts = [1, 8, 16];
const pathsMax = 40;
/** Delay in milliseconds after a request without a reply. */
const retryDelayMs = 20;
/** Pause in milliseconds before it is checked again whether a collection has requests in flight. */
const accessPauseMs = 2;

/** Model of all acknowledged requests, and of those in flight when the server was killed. */
export class CrashModel {
  readonly collections = new Map<string, CrashCollection>();
  /** Markers of texts replaced or deleted since the last check. */
  readonly removedTexts: RemovedText[] = [];
  /** Paths changed since the last check, as `folder path`. */
  readonly changedPaths = new Set<string>();
  /** Bytes of the extracted text of files, by SHA-256 of the file, as far as they were read. */
  readonly textBytes = new Map<string, number>();
  readonly generator: DocumentGenerator;
  readonly #random: TestRandom;
  /** Embedding models used to create and change collections. */
  readonly #models: readonly string[];
  readonly #busyPaths = new Set<string>();
  acknowledged = 0;
  /** Number of child processes killed since the last check. */
  parserKills = 0;
  modelChanges = 0;
  /** While true, any request may fail: unacknowledged changes are uncertain until the next check. */
  mayFail = false;

  constructor(random: TestRandom, models: readonly string[] = [builtInModel]) {
    this.#random = random;
    this.#models = models;
    this.generator = new DocumentGenerator(random);
  }

  /** Sends random requests one after the other until `stopped` returns true or the server is gone. */
  async work(server: ServerProcess, stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      // A step without work must still yield to the event loop, or the other workers starve.
      await new Promise((resolve) => setImmediate(resolve));
      try {
        await this.step(server);
      } catch (error) {
        if (!(error instanceof ServerGoneError) || !(stopped() || this.mayFail)) throw error;
        if (stopped()) return;
        await wait(retryDelayMs);
      }
    }
  }

  async step(server: ServerProcess): Promise<void> {
    const usable = [...this.collections.values()].filter(
      ({ possibleExists: exists, isExclusive: exclusive }) => exists.length === 1 && exists[0] && !exclusive,
    );
    const roll = this.#random.below(100);
    if (usable.length < 2 || roll < 1) return this.#createCollection(server);
    if (roll < 2 && usable.length > 2) return this.deleteCollection(server, this.#pickRandom(usable));
    const collection = this.#pickRandom(usable);
    if (roll < 4 && this.#models.length > 1) return this.#changeModel(server, collection);
    collection.activeRequests += 1;
    try {
      await this.#change(server, collection, roll);
    } finally {
      collection.activeRequests -= 1;
    }
  }

  async #change(server: ServerProcess, collection: CrashCollection, roll: number): Promise<void> {
    if (roll < 8) return this.#batch(server, collection);
    const path = `file-${this.#random.below(pathsMax)}.txt`;
    const key = `${collection.name} ${path}`;
    if (this.#busyPaths.has(key) || this.#statesOf(collection, path).length > 1) return;
    this.#busyPaths.add(key);
    try {
      if (roll < 55) await this.add(server, collection, path);
      else if (roll < 65) await this.#upload(server, collection, path);
      else if (roll < 80) await this.#updateMetadata(server, collection, path);
      else if (roll < 92) await this.#delete(server, collection, path);
      else await this.#checkQuery(server, collection, path);
    } finally {
      this.#busyPaths.delete(key);
    }
  }

  /** Adds or overwrites a document; sometimes waits for the index and immediately searches for its marker. */
  async add(
    server: ServerProcess,
    collection: CrashCollection,
    path: string,
    documentState = this.generator.next(),
  ): Promise<void> {
    const isWaiting = this.#random.below(4) === 0;
    const { content, metadata } = documentState;
    const body = {
      collection_name: collection.name,
      path,
      content,
      metadata,
      overwrite: true,
      wait: isWaiting,
    };
    const reply = await this.#withPendingChange(collection, path, documentState, () =>
      server.call('documents/add-document', body),
    );
    if (
      reply.status < 300 &&
      isWaiting &&
      reply.body.index_status === 'indexed' &&
      documentState.marker !== ''
    ) {
      const found = await this.findMarker(server, collection.name, documentState.marker);
      if (!this.mayFail && !found.includes(path))
        throw new Error(`${path} is indexed and not found by ${documentState.marker}`);
    }
  }

  /** Vectors of models other than the built-in one are too coarse for queries of single words. */
  weightsFor(collection: string): object {
    const known = this.collections.get(collection);
    const isBuiltIn = known === undefined || known.possibleModels.every((model) => model === builtInModel);
    return isBuiltIn && known?.isModelChanging !== true ? {} : { weights: { lexical: 1, vector: 0 } };
  }

  /** Paths of the returned snippets that contain the marker. */
  async findMarker(server: ServerProcess, collection: string, marker: string): Promise<string[]> {
    const body = { collection_name: collection, query: marker, k: 10, ...this.weightsFor(collection) };
    const reply = await server.call('queries/top-snippets', body);
    if (this.#isServerFailure(reply)) return [];
    if (reply.status !== 200) throw new Error(`a query was answered ${reply.status}: ${reply.body.detail}`);
    const results = reply.body.results as { path: string; content: string }[];
    return results.filter((result) => result.content.includes(marker)).map((result) => result.path);
  }

  async deleteCollection(server: ServerProcess, collection: CrashCollection): Promise<void> {
    await this.#withExclusiveAccess(collection, async () => {
      collection.possibleExists = [true, false];
      const reply = await server.call('collections/delete-collection', { collection_name: collection.name });
      if (this.#isServerFailure(reply)) return;
      this.#expectStatus(reply, [200]);
      this.removeCollection(collection);
    });
  }

  /** Records that the collection no longer exists. */
  removeCollection(collection: CrashCollection): void {
    collection.possibleExists = [false];
    for (const states of collection.paths.values()) this.markRemoved(collection, states, null);
    collection.paths.clear();
  }

  /** Records the markers of superseded states: search must never find them again. */
  markRemoved(collection: CrashCollection, states: PossibleStates, keptState: CrashDocument | null): void {
    for (const state of states) {
      if (state === null || state.marker === '' || state.marker === keptState?.marker) continue;
      this.removedTexts.push({ collection: collection.name, marker: state.marker });
    }
  }

  async #createCollection(server: ServerProcess): Promise<void> {
    const name = `folder ${this.#random.below(4)}`;
    const collection = this.collections.get(name) ?? {
      name,
      possibleExists: [false],
      possibleModels: [builtInModel],
      isModelChanging: false,
      paths: new Map<string, PossibleStates>(),
      activeRequests: 0,
      isExclusive: false,
    };
    if (collection.possibleExists.length > 1 || collection.possibleExists[0] || collection.isExclusive)
      return;
    this.collections.set(name, collection);
    await this.#withExclusiveAccess(collection, async () => {
      collection.possibleExists = [false, true];
      const model = this.#pickRandom(this.#models);
      collection.possibleModels = [model];
      const options = { num_shards: this.#pickRandom(shardCounts), embedding_model: model };
      const reply = await server.call('collections/add-collection', { collection_name: name, ...options });
      if (this.#isServerFailure(reply)) return;
      this.#expectStatus(reply, [201]);
      collection.possibleExists = [true];
    });
  }

  async #changeModel(server: ServerProcess, collection: CrashCollection): Promise<void> {
    await this.#withExclusiveAccess(collection, async () => {
      const model = this.#pickRandom(this.#models);
      const before = collection.possibleModels;
      collection.possibleModels = [...new Set([...before, model])];
      collection.isModelChanging = true;
      const body = { collection_name: collection.name, embedding_model: model };
      const reply = await server.call('collections/change-model', body);
      if (this.#isServerFailure(reply)) return;
      this.#expectStatus(reply, [200, 409]);
      collection.possibleModels = reply.status === 200 ? [model] : before;
      this.modelChanges += reply.status === 200 ? 1 : 0;
    });
  }

  async #batch(server: ServerProcess, collection: CrashCollection): Promise<void> {
    const names = Array.from({ length: 2 + this.#random.below(4) }, () => this.#random.below(pathsMax));
    const paths = [...new Set(names)].map((name) => `file-${name}.txt`);
    const isTaken = (path: string) =>
      this.#busyPaths.has(`${collection.name} ${path}`) || this.#statesOf(collection, path).length > 1;
    if (paths.some(isTaken)) return;
    const entries = paths.map((path) => ({ path, written: this.generator.next() }));
    for (const { path } of entries) this.#busyPaths.add(`${collection.name} ${path}`);
    try {
      const before = entries.map(({ path, written: documentState }) =>
        this.#beginChange(collection, path, documentState),
      );
      const documents = entries.map(({ path, written: { content, metadata } }) => ({
        path,
        content,
        metadata,
        overwrite: true,
      }));
      const body = { collection_name: collection.name, documents };
      const reply = await server.call('documents/add-documents', body);
      if (this.#isServerFailure(reply)) return;
      this.#expectStatus(reply, [200]);
      const results = reply.body.results as { status: number }[];
      entries.forEach(({ path, written: documentState }, i) => {
        if (this.#isServerFailure(results[i]!)) return;
        this.#endChange(collection, path, results[i]!.status < 300, {
          before: before[i]!,
          after: documentState,
        });
      });
    } finally {
      for (const { path } of entries) this.#busyPaths.delete(`${collection.name} ${path}`);
    }
  }

  async #upload(server: ServerProcess, collection: CrashCollection, path: string): Promise<void> {
    const documentState = this.generator.pdf(1 + this.#random.below(20));
    const metadata = Buffer.from(JSON.stringify(documentState.metadata)).toString('base64url');
    const address = `/v1/documents/${encodeURIComponent(collection.name)}/${encodeURIComponent(path)}?overwrite=true`;
    await this.#withPendingChange(collection, path, documentState, async () => {
      const headers = { 'x-quarry-metadata': metadata, 'content-type': 'application/pdf' };
      const reply = await server.request(address, { method: 'PUT', headers, body: documentState.raw });
      if (reply.status === 503) throw new ServerGoneError('the server is stopping');
      return { status: reply.status, body: JSON.parse(Buffer.from(reply.body).toString()) };
    });
  }

  async #updateMetadata(server: ServerProcess, collection: CrashCollection, path: string): Promise<void> {
    const [before] = this.#statesOf(collection, path);
    if (before === null || before === undefined) return;
    const metadata: ModelMetadata = this.generator.metadata();
    const body = { collection_name: collection.name, path, metadata };
    await this.#withPendingChange(collection, path, { ...before, metadata }, () =>
      server.call('documents/update-document', body),
    );
  }

  async #delete(server: ServerProcess, collection: CrashCollection, path: string): Promise<void> {
    await this.#withPendingChange(collection, path, null, () =>
      server.call('documents/delete-document', { collection_name: collection.name, path }),
    );
  }

  async #checkQuery(server: ServerProcess, collection: CrashCollection, path: string): Promise<void> {
    const [known] = this.#statesOf(collection, path);
    const marker = known?.marker ?? '';
    const found = await this.findMarker(server, collection.name, marker === '' ? 'herring' : marker);
    const unexpectedPaths = marker === '' ? [] : found.filter((other) => other !== path);
    if (unexpectedPaths.length > 0) throw new Error(`${unexpectedPaths[0]} holds the word of ${path}`);
  }

  /** Sends one request for one path; while it is in flight, both states are possible. */
  async #withPendingChange(
    collection: CrashCollection,
    path: string,
    after: CrashDocument | null,
    ask: () => Promise<CrashReply>,
  ): Promise<CrashReply> {
    const before = this.#beginChange(collection, path, after);
    const reply = await ask();
    if (this.#isServerFailure(reply)) return reply;
    this.#expectStatus(reply, [200, 201, 400, 404, 429]);
    this.#endChange(collection, path, reply.status < 300, { before, after });
    return reply;
  }

  #beginChange(collection: CrashCollection, path: string, after: CrashDocument | null): CrashDocument | null {
    const [before = null] = this.#statesOf(collection, path);
    collection.paths.set(path, [before, after]);
    this.changedPaths.add(`${collection.name} ${path}`);
    return before;
  }

  #endChange(
    collection: CrashCollection,
    path: string,
    done: boolean,
    { before, after }: { readonly before: CrashDocument | null; readonly after: CrashDocument | null },
  ): void {
    const keptState = done ? after : before;
    collection.paths.set(path, [keptState]);
    this.markRemoved(collection, [before, after], keptState);
    if (done) this.acknowledged += 1;
  }

  /** Whether the server failed while it may fail: the outcome of the request is uncertain. */
  #isServerFailure({ status }: { readonly status: number }): boolean {
    return this.mayFail && status >= 429;
  }

  #statesOf(collection: CrashCollection, path: string): PossibleStates {
    return collection.paths.get(path) ?? [null];
  }

  /** Waits until no request touches the documents of the collection. */
  async #withExclusiveAccess(collection: CrashCollection, work: () => Promise<void>): Promise<void> {
    collection.isExclusive = true;
    try {
      while (collection.activeRequests > 0) await wait(accessPauseMs);
      await work();
    } finally {
      collection.isExclusive = false;
    }
  }

  #expectStatus(reply: CrashReply, allowed: readonly number[]): void {
    if (allowed.includes(reply.status)) return;
    throw new Error(`an answer ${reply.status} was not expected: ${JSON.stringify(reply.body)}`);
  }

  #pickRandom<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)]!;
  }
}
