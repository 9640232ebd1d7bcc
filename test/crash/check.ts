import { setTimeout as wait } from 'node:timers/promises';
import type { Seeded } from '../store/seeded.ts';
import { eventMsMax } from '../waiting.ts';
import type { Metadata, Written } from './documents.ts';
import type { Findings } from './findings.ts';
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
  readonly error_code: string | null;
}

/** Documents that are looked at closely although nothing happened to them since the last check. */
const sampleMax = 6;

/** Compares a server with everything it has acknowledged; what was in doubt is certain afterwards. */
export class Check {
  readonly #t: Findings;
  readonly #server: ServerProcess;
  readonly #world: World;
  readonly #chance: Seeded;
  /** Addresses of files, by `folder path`, as of the check before. */
  readonly #addresses: Map<string, string>;

  constructor(parts: {
    t: Findings;
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
    await this.#settle({});
    const { body } = await this.#server.call('collections/get-collection-list', {});
    const names = new Set(body.collection_names as string[]);
    for (const folder of this.#world.folders.values()) {
      const exists = names.delete(folder.name);
      if (!folder.exists.includes(exists))
        this.#t.fail(`${folder.name}: exists is ${exists}`, { kind: exists ? 'resurrected' : 'lost' });
      if (exists) await this.#folder(folder);
      else await this.#goneFolder(folder);
    }
    this.#t.same([...names], [], 'no collection that nobody made', { kind: 'resurrected' });
    await this.#retired();
    this.#world.touched.clear();
    this.#world.parserKills = 0;
  }

  /** Waits until nothing is on its way any more. */
  async #settle(scope: { collection_name?: string }): Promise<void> {
    const deadline = performance.now() + eventMsMax;
    for (;;) {
      const { body } = await this.#server.call('status/get-status', scope);
      const pending = body.num_parsing_documents + body.num_indexing_documents;
      if (pending === 0 && body.model_changes === undefined) return;
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
    await this.#model(folder);
    const infos = await this.#retried(folder, await this.#list(folder));
    for (const [path, states] of folder.paths) {
      const info = infos.get(path);
      const kept = states.find((state) => matches(state, info));
      if (kept === undefined) {
        const expected = states.map((state) => state && { marker: state.marker, metadata: state.metadata });
        this.#t.fail(`${folder.name} ${path} is in no state it may be in`, {
          kind: states.some((state) => state !== null) ? 'lost' : 'resurrected',
          expected,
          info,
        });
        // What follows is compared with a state that is known again.
        await this.#server.call('documents/delete-document', { collection_name: folder.name, path });
        folder.paths.delete(path);
        infos.delete(path);
        continue;
      }
      this.#world.retire(folder, states, kept);
      if (kept === null) {
        folder.paths.delete(path);
        await this.#goneAddress(`${folder.name} ${path}`);
      } else folder.paths.set(path, [kept]);
    }
    for (const path of infos.keys())
      if (!folder.paths.has(path))
        this.#t.fail(`${folder.name} ${path} came out of nothing`, { kind: 'resurrected' });
    await this.#contents(folder, infos);
    await this.#listing(folder);
    await this.#counts(folder, infos);
  }

  /** An acknowledged change of the model ends with that model. */
  async #model(folder: Folder): Promise<void> {
    const scope = { collection_name: folder.name };
    await this.#settle(scope);
    const { body } = await this.#server.call('status/get-status', scope);
    const found = body.embedding_model as string;
    if (!folder.models.includes(found))
      this.#t.fail(`${folder.name} has the model ${found}`, { kind: 'lost', expected: folder.models });
    folder.models = [found];
    folder.isChanging = false;
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

  /** A document whose parser process was killed twice has failed; it must be indexed when it is tried again. */
  async #retried(folder: Folder, infos: Map<string, Info>): Promise<Map<string, Info>> {
    if (this.#world.parserKills < 2) return infos;
    const crashed = [...infos.values()].filter((info) => info.error_code === 'crash');
    for (const { path } of crashed) {
      const body = { collection_name: folder.name, path, index_status: 'not_parsed' };
      await this.#server.call('documents/update-document', body);
    }
    await this.#settle({ collection_name: folder.name });
    return crashed.length === 0 ? infos : this.#list(folder);
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
        this.#t.fail(`${folder.name} ${path} is ${info.index_status}: ${info.error}`, { kind: 'lost' });
      if (written.broken && !info.error)
        this.#t.fail(`${folder.name} ${path} failed without a reason`, { kind: 'lost' });
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
    if (!whole) this.#t.fail(`${folder.name} ${path} has lost text`, { kind: 'lost' });
    if (written.marker === '') return;
    const found = await this.#world.find(this.#server, folder.name, written.marker);
    if (found.length !== 1 || found[0] !== path)
      this.#t.fail(`${folder.name} ${path} is found ${found.length} times by ${written.marker}`, {
        kind: found.length > 1 ? 'duplicated' : 'search',
        found,
      });
    const weights = this.#world.weightsFor(folder.name);
    const documents = { collection_name: folder.name, query: written.marker, k: 5, ...weights };
    const top = await this.#server.call('queries/top-documents', documents);
    const paths = (top.body.results as Info[]).map((result) => result.path);
    if (paths[0] !== path || new Set(paths).size !== paths.length)
      this.#t.fail(`${folder.name} ${path} is not the best document for its own word`, {
        kind: 'search',
        paths,
      });
  }

  async #file(key: string, info: Info, written: Written): Promise<void> {
    const before = this.#addresses.get(key);
    const token = new URL(info.file_url).search;
    if (before !== undefined && before !== token) await this.#goneAddress(key);
    this.#addresses.set(key, token);
    const reply = await this.#server.request(`/v1/documents/get-document${token}`, {});
    if (reply.status !== 200 || Buffer.compare(reply.body, written.raw) !== 0)
      this.#t.fail(`the file of ${key} is not what was uploaded (${reply.status})`, { kind: 'lost' });
  }

  /** The address of a document that was deleted or replaced. */
  async #goneAddress(key: string): Promise<void> {
    const token = this.#addresses.get(key);
    if (token === undefined) return;
    this.#addresses.delete(key);
    const reply = await this.#server.request(`/v1/documents/get-document${token}`, {});
    if (reply.status !== 404)
      this.#t.fail(`the old address of ${key} is answered ${reply.status}`, { kind: 'resurrected' });
  }

  /** Search knows exactly the indexed documents, each once, with their newest metadata. */
  async #listing(folder: Folder): Promise<void> {
    const body = { collection_name: folder.name, query: null, k: 2_048, include_metadata: true };
    const reply = await this.#server.call('queries/top-documents', body);
    const found = (reply.body.results as Info[]).map(({ path, metadata }) => entry(path, metadata));
    const expected = [...folder.paths].flatMap(([path, [written]]) =>
      written === null || written === undefined || written.broken ? [] : [entry(path, written.metadata)],
    );
    const message = `${folder.name}: search knows exactly what is indexed`;
    this.#t.same(found.sort(), expected.sort(), message, { kind: 'search' });
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
      embedding_model: folder.models[0],
    };
    this.#t.same(body, expected, `${folder.name}: the counts are exact`, { kind: 'search' });
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
      if (found.length > 0)
        this.#t.fail(`${folder} ${found[0]} came back: ${marker}`, { kind: 'resurrected' });
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
