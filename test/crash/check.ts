import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Seeded } from '../store/seeded.ts';
import type { Metadata, Written } from './documents.ts';
import type { ServerProcess } from './server.ts';
import type { Folder, World } from './world.ts';

interface Info {
  readonly path: string;
  readonly metadata: Metadata;
  readonly index_status: string;
  readonly sha256: string;
  readonly size: number;
  readonly file_url: string;
  readonly error: string | null;
}

const settleMsMax = 120_000;
/** Documents that are looked at closely although nothing happened to them since the last check. */
const sampleMax = 6;

/** Compares a server with everything it has acknowledged; what was in doubt is certain afterwards. */
export class Check {
  readonly #t: Test;
  readonly #server: ServerProcess;
  readonly #world: World;
  readonly #chance: Seeded;
  /** Addresses of files, by `folder path`, as of the check before. */
  readonly #addresses: Map<string, string>;

  constructor(parts: {
    t: Test;
    server: ServerProcess;
    world: World;
    chance: Seeded;
    addresses: Map<string, string>;
  }) {
    this.#t = parts.t;
    this.#server = parts.server;
    this.#world = parts.world;
    this.#chance = parts.chance;
    this.#addresses = parts.addresses;
  }

  async all(): Promise<void> {
    await this.#settle();
    const { body } = await this.#server.call('collections/get-collection-list', {});
    const names = new Set(body.collection_names as string[]);
    for (const folder of this.#world.folders.values()) {
      const exists = names.delete(folder.name);
      if (!folder.exists.includes(exists)) this.#t.fail(`${folder.name}: exists is ${exists}`);
      if (exists) await this.#folder(folder);
      else await this.#goneFolder(folder);
    }
    this.#t.same([...names], [], 'no collection that nobody made');
    await this.#retired();
    this.#world.touched.clear();
  }

  /** Waits until nothing is on its way any more. */
  async #settle(): Promise<void> {
    const deadline = performance.now() + settleMsMax;
    for (;;) {
      const { body } = await this.#server.call('status/get-status', {});
      if (body.num_parsing_documents + body.num_indexing_documents === 0) return;
      if (performance.now() > deadline) throw new Error(`documents stay pending: ${JSON.stringify(body)}`);
      await wait(50);
    }
  }

  async #goneFolder(folder: Folder): Promise<void> {
    if (folder.exists.length > 1) this.#world.forgetFolder(folder);
    for (const key of [...this.#addresses.keys()].filter((known) => known.startsWith(`${folder.name} `))) {
      await this.#goneAddress(key);
    }
  }

  async #folder(folder: Folder): Promise<void> {
    folder.exists = [true];
    const infos = await this.#list(folder);
    for (const [path, states] of folder.paths) {
      const info = infos.get(path);
      const kept = states.find((state) => matches(state, info));
      if (kept === undefined) {
        const expected = states.map((state) => state && { marker: state.marker, metadata: state.metadata });
        this.#t.fail(`${folder.name} ${path} is in no state it may be in`, { expected, info });
        continue;
      }
      this.#world.retire(folder, states, kept);
      if (kept === null) {
        folder.paths.delete(path);
        await this.#goneAddress(`${folder.name} ${path}`);
      } else folder.paths.set(path, [kept]);
    }
    for (const path of infos.keys())
      if (!folder.paths.has(path)) this.#t.fail(`${folder.name} ${path} came out of nothing`);
    await this.#contents(folder, infos);
    await this.#listing(folder);
    await this.#counts(folder, infos);
  }

  async #list(folder: Folder): Promise<Map<string, Info>> {
    const infos = new Map<string, Info>();
    const limit = 3 + this.#chance.below(30);
    for (let after: string | undefined; ; ) {
      const body = { collection_name: folder.name, limit, path_gt: after };
      const reply = await this.#server.call('documents/get-document-info-list', body);
      const page = reply.body.documents as Info[];
      if (page.length === 0) return infos;
      for (const info of page) infos.set(info.path, info);
      after = page.at(-1)!.path;
    }
  }

  /** Status, text, file and search of every document that changed, and of some others. */
  async #contents(folder: Folder, infos: ReadonlyMap<string, Info>): Promise<void> {
    let sample = sampleMax;
    for (const [path, [written]] of folder.paths) {
      const changed = this.#world.touched.has(`${folder.name} ${path}`);
      if (written === null || written === undefined || (!changed && sample-- <= 0)) continue;
      const info = infos.get(path)!;
      const status = written.broken ? 'parsing_failed' : 'indexed';
      if (info.index_status !== status)
        this.#t.fail(`${folder.name} ${path} is ${info.index_status}: ${info.error}`);
      if (written.broken && !info.error) this.#t.fail(`${folder.name} ${path} failed without a reason`);
      await this.#content(folder, path, written);
      await this.#file(`${folder.name} ${path}`, info, written);
    }
  }

  async #content(folder: Folder, path: string, written: Written): Promise<void> {
    if (written.broken) {
      this.#world.retired.push({ folder: folder.name, marker: written.marker });
      return;
    }
    const body = { collection_name: folder.name, path, include_content: true };
    const reply = await this.#server.call('documents/get-document-info', body);
    const content = reply.body.document.content as string;
    const whole = written.text === null ? content.includes(written.marker) : content === written.text;
    if (!whole) this.#t.fail(`${folder.name} ${path} has lost text`);
    if (written.marker === '') return;
    const found = await this.#world.find(this.#server, folder.name, written.marker);
    if (found.length !== 1 || found[0] !== path)
      this.#t.fail(`${folder.name} ${path} is found ${found.length} times by ${written.marker}`, { found });
    const documents = { collection_name: folder.name, query: written.marker, k: 5 };
    const top = await this.#server.call('queries/top-documents', documents);
    const paths = (top.body.results as Info[]).map((result) => result.path);
    if (paths[0] !== path || new Set(paths).size !== paths.length)
      this.#t.fail(`${folder.name} ${path} is not the best document for its own word`, { paths });
  }

  async #file(key: string, info: Info, written: Written): Promise<void> {
    const before = this.#addresses.get(key);
    const token = new URL(info.file_url).search;
    if (before !== undefined && before !== token) await this.#goneAddress(key);
    this.#addresses.set(key, token);
    const reply = await this.#server.request(`/v1/documents/get-document${token}`, {});
    if (reply.status !== 200 || Buffer.compare(reply.body, written.raw) !== 0)
      this.#t.fail(`the file of ${key} is not what was uploaded (${reply.status})`);
  }

  /** The address of a document that was deleted or replaced. */
  async #goneAddress(key: string): Promise<void> {
    const token = this.#addresses.get(key);
    if (token === undefined) return;
    this.#addresses.delete(key);
    const reply = await this.#server.request(`/v1/documents/get-document${token}`, {});
    if (reply.status !== 404) this.#t.fail(`the old address of ${key} is answered ${reply.status}`);
  }

  /** Search knows exactly the indexed documents, each once, with their newest metadata. */
  async #listing(folder: Folder): Promise<void> {
    const body = { collection_name: folder.name, query: null, k: 2_048, include_metadata: true };
    const reply = await this.#server.call('queries/top-documents', body);
    const found = (reply.body.results as Info[]).map(({ path, metadata }) => entry(path, metadata));
    const expected = [...folder.paths].flatMap(([path, [written]]) =>
      written === null || written === undefined || written.broken ? [] : [entry(path, written.metadata)],
    );
    this.#t.same(found.sort(), expected.sort(), `${folder.name}: search knows exactly what is indexed`);
  }

  async #counts(folder: Folder, infos: ReadonlyMap<string, Info>): Promise<void> {
    const { body } = await this.#server.call('status/get-status', { collection_name: folder.name });
    const indexed = [...infos.values()].filter((info) => info.index_status === 'indexed');
    let bytes = 0;
    for (const { path, size } of indexed) {
      const written = folder.paths.get(path)?.[0];
      bytes += written?.text === null ? await this.#textBytes(folder, path) : size;
    }
    const expected = {
      num_documents: infos.size,
      num_parsing_documents: 0,
      num_indexing_documents: 0,
      num_indexed_documents: indexed.length,
      num_failed_documents: infos.size - indexed.length,
      num_indexed_bytes: bytes,
      embedding_model: 'zembed-1',
    };
    this.#t.same(body, expected, `${folder.name}: the counts are exact`);
  }

  async #textBytes(folder: Folder, path: string): Promise<number> {
    const body = { collection_name: folder.name, path, include_content: true };
    const reply = await this.#server.call('documents/get-document-info', body);
    return Buffer.byteLength(reply.body.document.content as string);
  }

  async #retired(): Promise<void> {
    for (const { folder, marker } of this.#world.retired.splice(0)) {
      if (this.#world.folders.get(folder)?.exists[0] !== true) continue;
      const found = await this.#world.find(this.#server, folder, marker);
      if (found.length > 0) this.#t.fail(`${folder} ${found[0]} came back: ${marker}`);
    }
  }
}

function matches(state: Written | null, info: Info | undefined): boolean {
  if (state === null || info === undefined) return state === null && info === undefined;
  return state.sha256 === info.sha256 && JSON.stringify(state.metadata) === JSON.stringify(info.metadata);
}

function entry(path: string, metadata: Metadata): string {
  return `${path} ${JSON.stringify(metadata)}`;
}
