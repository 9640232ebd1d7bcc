import { setTimeout as wait } from 'node:timers/promises';
import type { Seeded } from '../store/seeded.ts';
import { DocumentMaker, type Metadata, type Written } from './documents.ts';
import { Lost, type Reply, type ServerProcess } from './server.ts';

/** What a path may hold: one state when the server has answered, two while an answer is missing; null: no document. */
type States = readonly (Written | null)[];

export interface Folder {
  readonly name: string;
  /** Whether the collection exists; two entries while an answer is missing. */
  exists: readonly boolean[];
  readonly paths: Map<string, States>;
  /** Its embedding model; two entries while a change of it is not answered. */
  models: readonly string[];
  /** A change of its model was acknowledged since the last check: its vectors may be of either. */
  isChanging: boolean;
  /** Requests that touch its documents. */
  users: number;
  /** It is being created or deleted: nobody else touches it. */
  exclusive: boolean;
}

/** What must never be found again. */
export interface Retired {
  readonly folder: string;
  readonly marker: string;
}

export const builtInModel = 'zembed-1';
const shardCounts = [1, 8, 16];
const pathsMax = 40;
/** Before the next request after one that was not answered. */
const lostPauseMs = 20;

/** Everything that a server was asked to do and has answered, and what it was asked when it was killed. */
export class World {
  readonly folders = new Map<string, Folder>();
  /** Words of texts that were replaced or deleted since the last check. */
  readonly retired: Retired[] = [];
  /** Paths that changed since the last check, as `folder path`. */
  readonly touched = new Set<string>();
  readonly maker: DocumentMaker;
  readonly #chance: Seeded;
  /** Embedding models that collections are created with and changed to. */
  readonly #models: readonly string[];
  readonly #busy = new Set<string>();
  acknowledged = 0;
  /** Processes other than the server that were killed since the last check. */
  parserKills = 0;
  modelChanges = 0;
  /** While true, any request may fail: what is not acknowledged is in doubt until the next check. */
  mayFail = false;

  constructor(chance: Seeded, models: readonly string[] = [builtInModel]) {
    this.#chance = chance;
    this.#models = models;
    this.maker = new DocumentMaker(chance);
  }

  /** Random requests, one after the other, until `stopped` answers true or the server is gone. */
  async work(server: ServerProcess, stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      // A step that finds nothing to do must not keep the others from their answers.
      await new Promise((resolve) => setImmediate(resolve));
      try {
        await this.step(server);
      } catch (error) {
        if (!(error instanceof Lost) || !(stopped() || this.mayFail)) throw error;
        if (stopped()) return;
        await wait(lostPauseMs);
      }
    }
  }

  async step(server: ServerProcess): Promise<void> {
    const usable = [...this.folders.values()].filter(
      ({ exists, exclusive }) => exists.length === 1 && exists[0] && !exclusive,
    );
    const roll = this.#chance.below(100);
    if (usable.length < 2 || roll < 1) return this.#createFolder(server);
    if (roll < 2 && usable.length > 2) return this.deleteFolder(server, this.#pick(usable));
    const folder = this.#pick(usable);
    if (roll < 4 && this.#models.length > 1) return this.#changeModel(server, folder);
    folder.users += 1;
    try {
      await this.#change(server, folder, roll);
    } finally {
      folder.users -= 1;
    }
  }

  async #change(server: ServerProcess, folder: Folder, roll: number): Promise<void> {
    if (roll < 8) return this.#batch(server, folder);
    const path = `file-${this.#chance.below(pathsMax)}.txt`;
    const key = `${folder.name} ${path}`;
    if (this.#busy.has(key) || this.#states(folder, path).length > 1) return;
    this.#busy.add(key);
    try {
      if (roll < 55) await this.add(server, folder, path);
      else if (roll < 65) await this.#upload(server, folder, path);
      else if (roll < 80) await this.#updateMetadata(server, folder, path);
      else if (roll < 92) await this.#delete(server, folder, path);
      else await this.#query(server, folder, path);
    } finally {
      this.#busy.delete(key);
    }
  }

  /** Adds or overwrites; sometimes waits for the index and asks for the word at once. */
  async add(server: ServerProcess, folder: Folder, path: string, written = this.maker.make()): Promise<void> {
    const isWaiting = this.#chance.below(4) === 0;
    const { content, metadata } = written;
    const body = { collection_name: folder.name, path, content, metadata, overwrite: true, wait: isWaiting };
    const reply = await this.#during(folder, path, written, () =>
      server.call('documents/add-document', body),
    );
    if (reply.status < 300 && isWaiting && reply.body.index_status === 'indexed' && written.marker !== '') {
      const found = await this.find(server, folder.name, written.marker);
      if (!this.mayFail && !found.includes(path))
        throw new Error(`${path} is indexed and not found by ${written.marker}`);
    }
  }

  /** The vectors of a model other than the built-in one are too coarse to be asked about single words. */
  weightsFor(folder: string): object {
    const known = this.folders.get(folder);
    const isBuiltIn = known === undefined || known.models.every((model) => model === builtInModel);
    return isBuiltIn && known?.isChanging !== true ? {} : { weights: { lexical: 1, vector: 0 } };
  }

  /** Paths of the snippets that hold a word. */
  async find(server: ServerProcess, folder: string, marker: string): Promise<string[]> {
    const body = { collection_name: folder, query: marker, k: 10, ...this.weightsFor(folder) };
    const reply = await server.call('queries/top-snippets', body);
    if (this.#failed(reply)) return [];
    if (reply.status !== 200) throw new Error(`a query was answered ${reply.status}: ${reply.body.detail}`);
    const results = reply.body.results as { path: string; content: string }[];
    return results.filter((result) => result.content.includes(marker)).map((result) => result.path);
  }

  async deleteFolder(server: ServerProcess, folder: Folder): Promise<void> {
    await this.#exclusively(folder, async () => {
      folder.exists = [true, false];
      const reply = await server.call('collections/delete-collection', { collection_name: folder.name });
      if (this.#failed(reply)) return;
      this.#expect(reply, [200]);
      this.forgetFolder(folder);
    });
  }

  /** The collection is gone for certain. */
  forgetFolder(folder: Folder): void {
    folder.exists = [false];
    for (const states of folder.paths.values()) this.retire(folder, states, null);
    folder.paths.clear();
  }

  /** States that did not last: their words must never be found again. */
  retire(folder: Folder, states: States, kept: Written | null): void {
    for (const state of states) {
      if (state === null || state.marker === '' || state.marker === kept?.marker) continue;
      this.retired.push({ folder: folder.name, marker: state.marker });
    }
  }

  async #createFolder(server: ServerProcess): Promise<void> {
    const name = `folder ${this.#chance.below(4)}`;
    const folder = this.folders.get(name) ?? {
      name,
      exists: [false],
      models: [builtInModel],
      isChanging: false,
      paths: new Map<string, States>(),
      users: 0,
      exclusive: false,
    };
    if (folder.exists.length > 1 || folder.exists[0] || folder.exclusive) return;
    this.folders.set(name, folder);
    await this.#exclusively(folder, async () => {
      folder.exists = [false, true];
      const model = this.#pick(this.#models);
      folder.models = [model];
      const options = { num_shards: this.#pick(shardCounts), embedding_model: model };
      const reply = await server.call('collections/add-collection', { collection_name: name, ...options });
      if (this.#failed(reply)) return;
      this.#expect(reply, [201]);
      folder.exists = [true];
    });
  }

  async #changeModel(server: ServerProcess, folder: Folder): Promise<void> {
    await this.#exclusively(folder, async () => {
      const model = this.#pick(this.#models);
      const before = folder.models;
      folder.models = [...new Set([...before, model])];
      folder.isChanging = true;
      const body = { collection_name: folder.name, embedding_model: model };
      const reply = await server.call('collections/change-model', body);
      if (this.#failed(reply)) return;
      this.#expect(reply, [200, 409]);
      folder.models = reply.status === 200 ? [model] : before;
      this.modelChanges += reply.status === 200 ? 1 : 0;
    });
  }

  async #batch(server: ServerProcess, folder: Folder): Promise<void> {
    const names = Array.from({ length: 2 + this.#chance.below(4) }, () => this.#chance.below(pathsMax));
    const paths = [...new Set(names)].map((name) => `file-${name}.txt`);
    const isTaken = (path: string) =>
      this.#busy.has(`${folder.name} ${path}`) || this.#states(folder, path).length > 1;
    if (paths.some(isTaken)) return;
    const entries = paths.map((path) => ({ path, written: this.maker.make() }));
    for (const { path } of entries) this.#busy.add(`${folder.name} ${path}`);
    try {
      const before = entries.map(({ path, written }) => this.#begin(folder, path, written));
      const documents = entries.map(({ path, written: { content, metadata } }) => ({
        path,
        content,
        metadata,
        overwrite: true,
      }));
      const body = { collection_name: folder.name, documents };
      const reply = await server.call('documents/add-documents', body);
      if (this.#failed(reply)) return;
      this.#expect(reply, [200]);
      const results = reply.body.results as { status: number }[];
      entries.forEach(({ path, written }, i) => {
        if (this.#failed(results[i]!)) return;
        this.#end(folder, path, results[i]!.status < 300, { before: before[i]!, after: written });
      });
    } finally {
      for (const { path } of entries) this.#busy.delete(`${folder.name} ${path}`);
    }
  }

  async #upload(server: ServerProcess, folder: Folder, path: string): Promise<void> {
    const written = this.maker.pdf(1 + this.#chance.below(20));
    const metadata = Buffer.from(JSON.stringify(written.metadata)).toString('base64url');
    const address = `/v1/documents/${encodeURIComponent(folder.name)}/${encodeURIComponent(path)}?overwrite=true`;
    await this.#during(folder, path, written, async () => {
      const headers = { 'x-quarry-metadata': metadata, 'content-type': 'application/pdf' };
      const reply = await server.request(address, { method: 'PUT', headers, body: written.raw });
      if (reply.status === 503) throw new Lost('the server is stopping');
      return { status: reply.status, body: JSON.parse(Buffer.from(reply.body).toString()) };
    });
  }

  async #updateMetadata(server: ServerProcess, folder: Folder, path: string): Promise<void> {
    const [before] = this.#states(folder, path);
    if (before === null || before === undefined) return;
    const metadata: Metadata = this.maker.metadata();
    const body = { collection_name: folder.name, path, metadata };
    await this.#during(folder, path, { ...before, metadata }, () =>
      server.call('documents/update-document', body),
    );
  }

  async #delete(server: ServerProcess, folder: Folder, path: string): Promise<void> {
    await this.#during(folder, path, null, () =>
      server.call('documents/delete-document', { collection_name: folder.name, path }),
    );
  }

  async #query(server: ServerProcess, folder: Folder, path: string): Promise<void> {
    const [known] = this.#states(folder, path);
    const marker = known?.marker ?? '';
    const found = await this.find(server, folder.name, marker === '' ? 'herring' : marker);
    const strangers = marker === '' ? [] : found.filter((other) => other !== path);
    if (strangers.length > 0) throw new Error(`${strangers[0]} holds the word of ${path}`);
  }

  /** One request about one path: while it runs, both states are possible. */
  async #during(
    folder: Folder,
    path: string,
    after: Written | null,
    ask: () => Promise<Reply>,
  ): Promise<Reply> {
    const before = this.#begin(folder, path, after);
    const reply = await ask();
    if (this.#failed(reply)) return reply;
    this.#expect(reply, [200, 201, 400, 404, 429]);
    this.#end(folder, path, reply.status < 300, { before, after });
    return reply;
  }

  #begin(folder: Folder, path: string, after: Written | null): Written | null {
    const [before = null] = this.#states(folder, path);
    folder.paths.set(path, [before, after]);
    this.touched.add(`${folder.name} ${path}`);
    return before;
  }

  #end(
    folder: Folder,
    path: string,
    done: boolean,
    { before, after }: { readonly before: Written | null; readonly after: Written | null },
  ): void {
    const kept = done ? after : before;
    folder.paths.set(path, [kept]);
    this.retire(folder, [before, after], kept);
    if (done) this.acknowledged += 1;
  }

  /** The server could not do it, and it may: what it was asked is in doubt. */
  #failed({ status }: { readonly status: number }): boolean {
    return this.mayFail && status >= 429;
  }

  #states(folder: Folder, path: string): States {
    return folder.paths.get(path) ?? [null];
  }

  /** Waits until nobody touches the collection's documents. */
  async #exclusively(folder: Folder, work: () => Promise<void>): Promise<void> {
    folder.exclusive = true;
    try {
      while (folder.users > 0) await new Promise((resolve) => setImmediate(resolve));
      await work();
    } finally {
      folder.exclusive = false;
    }
  }

  #expect(reply: Reply, allowed: readonly number[]): void {
    if (allowed.includes(reply.status)) return;
    throw new Error(`an answer ${reply.status} was not expected: ${JSON.stringify(reply.body)}`);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#chance.below(list.length)]!;
  }
}
