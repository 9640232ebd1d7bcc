import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { AppError } from '../../src/base/app-error.ts';
import { limits } from '../../src/base/limits.ts';
import { usualControl } from '../../src/search/query-request.ts';
import { documentText } from '../../src/services/document-text.ts';
import { type Collection, generationOf } from '../../src/store/collections.ts';
import type { DocumentRecord } from '../../src/store/documents.ts';
import { hash, tables, text, uuid } from '../../src/store/keys.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { ExpectationFailed } from '../../src/store/store.ts';
import { callerWith } from '../base/caller.ts';
import { markerOf } from '../crash/documents.ts';
import type { Seeded } from '../store/seeded.ts';
import { eventMsMax } from '../waiting.ts';
import { FlakyStore } from './flaky-store.ts';
import { openProcess, type Process } from './process.ts';

/** One state of a document as a user wrote it; null: none. */
interface Written {
  readonly marker: string;
  readonly edition: string;
  readonly text: string;
  readonly rawHash: string;
  /** How parsing ends: a file of ours is read, damaged, or makes the parser itself fail every time. */
  readonly fate: 'read' | 'damaged' | 'trouble';
}
type States = readonly (Written | null)[];

interface Shelf {
  readonly name: string;
  exists: readonly boolean[];
  readonly paths: Map<string, States>;
}

const organizationId = '00000000-0000-4000-8000-000000000001';
const pathsMax = 8;
const names = ['letters', 'ledgers'];
const shardCounts = [1, 8];
const runningMax = 5;

/** Random work on the rooms of the server over one store, next to a plain map of what must come out. */
export class Simulation {
  readonly #t: Test;
  readonly #chance: Seeded;
  readonly #folder: string;
  readonly #store = new MemoryStore();
  readonly #shelves = new Map<string, Shelf>();
  readonly #files = new Map<string, Written>();
  readonly #retired = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #time = 1_700_000_000_000;
  #count = 0;
  #flaky: FlakyStore;
  #process: Process | null = null;
  #crashed = false;
  readonly seen = { done: 0, refused: 0, crashes: 0, restarts: 0, failedWrites: 0, modelsChanged: 0 };

  constructor(t: Test, chance: Seeded, folder: string) {
    this.#t = t;
    this.#chance = chance;
    this.#folder = folder;
    this.#flaky = new FlakyStore(this.#store, chance);
    for (const name of names) this.#shelves.set(name, { name, exists: [false], paths: new Map() });
  }

  async run(steps: number): Promise<void> {
    await this.#boot();
    for (let step = 1; step <= steps; step += 1) {
      await this.#step();
      if (step % 60 === 0) await this.#check();
    }
    await this.#deleteEverything();
    await this.#check();
    await this.#process!.close();
  }

  async #boot(): Promise<void> {
    this.#crashed = false;
    this.#countFailed();
    this.#flaky = new FlakyStore(this.#store, this.#chance);
    this.#process = await openProcess({
      store: this.#flaky,
      folder: this.#folder,
      clock: { now: () => this.#time, monotonic: () => this.#time },
      chance: { uuid: () => this.#uuid(), bytes: (count) => new Uint8Array(count) },
      parse: (rawHash) => this.#parse(rawHash),
    });
    this.#flaky.failures = this.#chance.below(3) * 4;
  }

  async #step(): Promise<void> {
    await turns(this.#chance.below(12));
    this.#time += this.#chance.below(400);
    const roll = this.#chance.below(100);
    if (roll < 2) return this.#restart();
    if (roll < 4) return this.#crash();
    if (roll < 8) return this.#attempt(() => this.#process!.indexes.snapshot());
    if (roll < 10) this.#time += limits.garbageDelayMs;
    if (roll < 14) return this.#attempt(() => this.#process!.clean());
    if (roll < 16) return this.#attempt(() => this.#changeModel());
    if (this.#running.size >= runningMax) return;
    const shelf = this.#pick([...this.#shelves.values()]);
    if (roll < 22) return this.#begin(shelf.name, () => this.#changeShelf(shelf, roll));
    const path = `${this.#chance.below(pathsMax)}.txt`;
    this.#begin(`${shelf.name} ${path}`, () => this.#changeDocument(shelf, path, roll));
  }

  /** Work that a failing store may refuse; nothing that a user was promised. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof AppError) && !(error instanceof ExpectationFailed)) throw error;
    }
  }

  #begin(key: string, work: () => Promise<void>): void {
    const [shelf = ''] = key.split(' ');
    const inTheWay = [...this.#busy].some(
      (other) => other === key || other === shelf || other.startsWith(`${key} `),
    );
    if (inTheWay) return;
    this.#busy.add(key);
    const run: Promise<void> = work()
      .catch((error: unknown) => void this.#t.fail(`${key}: ${String(error)}`, { error }))
      .finally(() => {
        this.#busy.delete(key);
        this.#running.delete(run);
      });
    this.#running.add(run);
  }

  async #changeShelf(shelf: Shelf, roll: number): Promise<void> {
    const process = this.#process!;
    const known = process.collections.get(organizationId, shelf.name);
    if (known === undefined) {
      const collection = {
        collectionId: this.#uuid(),
        organizationId,
        name: shelf.name,
        shards: this.#pick(shardCounts),
        createdAt: this.#time,
      };
      shelf.exists = [false, true];
      await this.#ask(
        () => process.addCollection(collection),
        (states) => {
          shelf.exists = states.map((after) => after);
        },
      );
    } else if (roll < 18) {
      shelf.exists = [true, false];
      await this.#ask(
        () => process.deleteCollection(known),
        (states) => {
          shelf.exists = states.map((after) => !after);
          if (shelf.exists.length === 1 && !shelf.exists[0]) this.#forget(shelf);
        },
      );
    }
  }

  #forget(shelf: Shelf): void {
    for (const states of shelf.paths.values()) this.#retire(states, null);
    shelf.paths.clear();
  }

  async #changeDocument(shelf: Shelf, path: string, roll: number): Promise<void> {
    const process = this.#process!;
    const collection = process.collections.get(organizationId, shelf.name);
    if (collection === undefined) return;
    const [before = null] = shelf.paths.get(path) ?? [];
    if (roll < 60) {
      const after = this.#write();
      await this.#askFor(shelf, path, after, () => this.#add(collection, path, after));
    } else if (roll < 72 && before !== null) {
      const after = { ...before, edition: this.#edition() };
      const metadata = { edition: after.edition };
      await this.#askFor(shelf, path, after, () => process.writer.updateMetadata(collection, path, metadata));
    } else if (roll < 84) {
      await this.#askFor(shelf, path, null, async () => {
        if ((await process.writer.remove(collection, [path])).length === 0) throw refusal();
      });
    } else if (roll < 90 && before !== null) {
      await this.#askFor(shelf, path, before, () => process.writer.retry(collection, path, 'not_parsed'));
    } else await this.#query(collection, path);
  }

  async #add(collection: Collection, path: string, written: Written): Promise<void> {
    const { blobs, writer, ingest } = this.#process!;
    const common = { path, metadata: { edition: written.edition }, overwrite: true };
    const { text: whole, rawHash } = written;
    const size = Buffer.byteLength(whole);
    if (!this.#files.has(rawHash)) {
      const contentKind = 'text' as const;
      const pages = [whole];
      const { version } = await writer.add(collection, {
        ...common,
        contentKind,
        contentType: 'text/plain',
        rawHash,
        size,
        pages,
      });
      // Somebody who waits must be told, whatever becomes of the document.
      if (this.#chance.below(3) === 0) await ingest.settled(version, AbortSignal.timeout(20));
      return;
    }
    const file = await blobs.put(Buffer.from(whole));
    try {
      const contentKind = 'auto' as const;
      const contentType = 'application/octet-stream';
      await writer.add(collection, { ...common, contentKind, contentType, rawHash, size, pages: null });
    } finally {
      file.release();
    }
  }

  /** Whoever has read `indexed` finds the document by the next query. */
  async #query(collection: Collection, path: string): Promise<void> {
    const { documents, search, versions } = this.#process!;
    const record = documents.get(collection.collectionId, path);
    if (record?.status !== 'indexed') return;
    const marker = this.#markerOf(record);
    const found = await this.#find(collection, marker);
    if (this.#crashed || this.#process!.search !== search) return;
    if (found.join() !== path) this.#t.fail(`${path} is indexed and found as [${found}] by ${marker}`);
    if (versions.get(collection.collectionId, record.version) === undefined)
      this.#t.fail('its version is gone');
  }

  async #find(collection: Collection, query: string): Promise<string[]> {
    const { search, collections } = this.#process!;
    const found = await search.snippets({
      collection: collections.byId(collection.collectionId) ?? collection,
      query,
      k: 100,
      filter: null,
      reranker: null,
      wide: false,
      deadlineMs: 60_000,
      yieldToEventLoop: () => null,
      caller: callerWith(),
      explain: false,
      control: usualControl,
    });
    return found.hits.filter((hit) => hit.snippet.chunk.text.includes(query)).map((hit) => hit.version.path);
  }

  async #askFor(
    shelf: Shelf,
    path: string,
    after: Written | null,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const [before = null] = shelf.paths.get(path) ?? [];
    shelf.paths.set(path, [before, after]);
    await this.#ask(work, (states) => {
      const kept = states.map((done) => (done ? after : before));
      shelf.paths.set(path, kept);
      if (kept.length === 1) this.#retire([before, after], kept[0]!);
    });
  }

  /** Tells `conclude` what may be true now: that it was done, that it was not, or both when the process died. */
  async #ask(work: () => Promise<unknown>, conclude: (states: readonly boolean[]) => void): Promise<void> {
    try {
      await work();
      this.seen.done += 1;
      conclude([true]);
    } catch (error) {
      if (this.#crashed) return conclude([false, true]);
      if (!(error instanceof AppError)) throw error;
      this.seen.refused += 1;
      conclude([false]);
    }
  }

  async #restart(): Promise<void> {
    await Promise.all(this.#running);
    await this.#process!.close();
    this.seen.restarts += 1;
    await this.#boot();
  }

  async #crash(): Promise<void> {
    this.#crashed = true;
    this.#flaky.crash();
    await Promise.all(this.#running);
    await this.#process!.bury();
    this.seen.crashes += 1;
    await this.#boot();
    for (const shelf of this.#shelves.values()) this.#resolve(shelf);
  }

  /** After a crash the store knows how what was under way ended: in one of the ways in which it could. */
  #resolve(shelf: Shelf): Collection | undefined {
    const { collections, documents } = this.#process!;
    const collection = collections.get(organizationId, shelf.name);
    if (!shelf.exists.includes(collection !== undefined)) this.#t.fail(`${shelf.name}: ${shelf.exists}`);
    shelf.exists = [collection !== undefined];
    if (collection === undefined) {
      this.#forget(shelf);
      return undefined;
    }
    for (const [path, states] of shelf.paths) {
      const record = documents.get(collection.collectionId, path);
      const kept = states.find((state) => isState(state, record));
      if (kept === undefined) {
        this.#t.fail(`${shelf.name} ${path} is in no state it may be in`, { states, record });
        continue;
      }
      this.#retire(states, kept);
      if (kept === null) shelf.paths.delete(path);
      else shelf.paths.set(path, [kept]);
    }
    return collection;
  }

  async #deleteEverything(): Promise<void> {
    await this.#settle();
    for (const shelf of this.#shelves.values()) {
      const known = this.#process!.collections.get(organizationId, shelf.name);
      if (known === undefined) continue;
      const paths = [...shelf.paths.keys()];
      await this.#process!.writer.remove(known, paths);
      for (const path of paths) {
        this.#retire(shelf.paths.get(path)!, null);
        shelf.paths.delete(path);
      }
    }
  }

  async #settle(): Promise<void> {
    this.#countFailed();
    this.#flaky.failures = 0;
    await Promise.all(this.#running);
    const deadline = performance.now() + eventMsMax;
    for (let turn = 0; this.#process!.ingest.depth > 0 || (await this.#isChanging()); turn += 1) {
      if (performance.now() > deadline)
        throw new Error(`${this.#process!.ingest.depth} documents stay pending`);
      this.#time += 500;
      this.#process!.ingest.start();
      await turns(4);
      if (turn > 500) await sleep(1);
    }
  }

  #countFailed(): void {
    this.seen.failedWrites += this.#flaky.failed;
    this.#flaky.failed = 0;
  }

  async #changeModel(): Promise<void> {
    const { collections, changeModel } = this.#process!;
    const known = collections.get(organizationId, this.#pick(names));
    if (known === undefined) return;
    await changeModel(known);
    this.seen.modelsChanged += 1;
  }

  /** A collection is getting the vectors of another model, or losing those of the last. */
  async #isChanging(): Promise<boolean> {
    const all = await this.#process!.collections.all();
    return all.some(({ vectors }) => vectors !== undefined && (vectors.next !== null || vectors.hasRemains));
  }

  async #check(): Promise<void> {
    const failures = this.#flaky.failures;
    await this.#settle();
    const records: DocumentRecord[] = [];
    for (const shelf of this.#shelves.values()) {
      const collection = this.#resolve(shelf);
      if (collection !== undefined) records.push(...(await this.#checkShelf(shelf, collection)));
    }
    this.#time += limits.garbageDelayMs + 1;
    await this.#process!.indexes.snapshot();
    await this.#process!.clean();
    await this.#checkLeftovers(records);
    this.#flaky.failures = failures;
  }

  async #checkShelf(shelf: Shelf, collection: Collection): Promise<DocumentRecord[]> {
    const { documents, counts, indexes } = this.#process!;
    const { collectionId } = collection;
    const records: DocumentRecord[] = [];
    for await (const record of documents.list(collectionId)) records.push(record);
    const byPath = new Map(records.map((record) => [record.path, record]));
    for (const [path, [written]] of shelf.paths) {
      const record = byPath.get(path);
      if (record !== undefined && written !== null && written !== undefined)
        await this.#checkDocument(collection, written, record);
    }
    const strangers = records.filter(({ path }) => !shelf.paths.has(path)).map(({ path }) => path);
    const live = records.flatMap((record) => record.live ?? []);
    const index = indexes.get(collectionId);
    const recount = await counts.recount(collectionId);
    if (strangers.length > 0) this.#t.fail(`${shelf.name} ${strangers} came out of nothing`);
    this.#t.same([...(await index.list(null, 1_000))].sort(), live.sort(), 'search sees the live versions');
    this.#t.equal(index.count(null), live.length, 'each of them once');
    this.#t.same(counts.get(collectionId), recount, 'the counts are exact');
    for (const marker of this.#retired) {
      const found = await this.#find(collection, marker);
      if (found.length > 0) this.#t.fail(`${shelf.name} ${found}: ${marker} came back`);
    }
    return records;
  }

  async #checkDocument(collection: Collection, written: Written, record: DocumentRecord): Promise<void> {
    const { contents, versions, collections } = this.#process!;
    const { path, status, version, live, documentId } = record;
    const expected = written.fate === 'read' ? 'indexed' : 'parsing_failed';
    if (status !== expected) this.#t.fail(`${path} is ${status} instead of ${expected}`, { record });
    if (live !== (status === 'indexed' ? version : null))
      this.#t.fail(`${path}: live is ${live}`, { record });
    if (status !== 'indexed' && record.error === null) this.#t.fail(`${path} failed without a reason`);
    if (versions.get(collection.collectionId, version)?.documentId !== documentId)
      this.#t.fail(`${path} has another version record`);
    if (status !== 'indexed') return;
    if (!contents.hasVectors(documentId, generationOf(collections.byId(collection.collectionId)!)))
      this.#t.fail(`${path} has no vectors of its collection's model`);
    const text = await documentText(contents, documentId);
    if ([...(text ?? [])].join('') !== written.text) this.#t.fail(`${path} has lost text`);
    const found = await this.#find(collection, written.marker);
    if (found.join() !== path) this.#t.fail(`${path} is found as [${found}] by ${written.marker}`);
  }

  /** When everything is settled and swept, the store holds what belongs to the documents and nothing else. */
  async #checkLeftovers(records: readonly DocumentRecord[]): Promise<void> {
    const files = records.filter(({ contentKind }) => contentKind === 'auto');
    const parsed = records.filter(({ status }) => status === 'indexed');
    const collections = await this.#process!.collections.all();
    const nothing: readonly string[] = [];
    const expected: readonly (readonly [
      keyof typeof tables,
      (key: Uint8Array) => string,
      readonly string[],
    ])[] = [
      ['content', (key) => uuid.decode(key, 1)[0], parsed.map(({ documentId }) => documentId)],
      ['documentId', (key) => uuid.decode(key, 1)[0], records.map(({ documentId }) => documentId)],
      [
        'versions',
        (key) => String(Buffer.from(key).readBigUInt64BE(17)),
        records.map(({ version }) => String(version)),
      ],
      [
        'live',
        (key) => String(Buffer.from(key).readBigUInt64BE(21)),
        parsed.map(({ version }) => String(version)),
      ],
      ['documents', (key) => text.decode(key, 17)[0], records.map(({ path }) => path)],
      ['blobReferences', (key) => hash.decode(key, 1)[0], files.map(({ rawHash }) => rawHash)],
      ['jobs', () => 'a job', nothing],
      ['garbage', () => 'garbage', nothing],
      ['changes', () => 'a change', nothing],
      ['tombstones', (key) => uuid.decode(key, 1)[0], nothing],
      ['collectionId', (key) => uuid.decode(key, 1)[0], collections.map(({ collectionId }) => collectionId)],
    ];
    for (const [table, nameOf, wanted] of expected) {
      const found = new Set<string>();
      const range = { gte: Uint8Array.of(tables[table]), lt: Uint8Array.of(tables[table] + 1) };
      for await (const { key } of this.#store.range(range)) found.add(nameOf(key));
      this.#t.same([...found].sort(), [...new Set(wanted)].sort(), `nothing is left over in ${table}`);
    }
    const blobs = readdirSync(join(this.#folder, 'blobs'), { recursive: true, encoding: 'utf8' });
    const kept = blobs.map((name) => name.slice(-64)).filter((name) => /^[0-9a-f]{64}$/.test(name));
    this.#t.same(kept.sort(), files.map(({ rawHash }) => rawHash).sort(), 'no file is left over');
    const shelves = readdirSync(join(this.#folder, 'index'));
    this.#t.same(
      shelves.sort(),
      collections.map((collection) => folderOf(collection)).sort(),
      'no shards are left over',
    );
  }

  #write(): Written {
    this.#count += 1;
    const marker = markerOf(this.#count);
    const filler = 'ink and paper for the harbour office '.repeat(1 + this.#chance.below(120));
    const whole = `${filler}${marker} ${filler}`;
    const rawHash = createHash('sha256').update(whole).digest('hex');
    const fate = this.#pick(['read', 'read', 'read', 'damaged', 'trouble'] as const);
    const isFile = fate !== 'read' || this.#chance.below(3) === 0;
    const written: Written = { marker, edition: this.#edition(), text: whole, rawHash, fate };
    if (isFile) this.#files.set(rawHash, written);
    return written;
  }

  async #parse(rawHash: string): Promise<string[] | null> {
    await turns(this.#chance.below(10));
    const written = this.#files.get(rawHash)!;
    if (written.fate === 'trouble' || this.#chance.below(10) === 0)
      throw new Error('the parser is in trouble');
    return written.fate === 'damaged' ? null : [written.text];
  }

  #markerOf(record: DocumentRecord): string {
    const states = this.#shelves.get(this.#process!.collections.byId(record.collectionId)!.name)!.paths;
    return states.get(record.path)![0]!.marker;
  }

  #retire(states: States, kept: Written | null): void {
    for (const state of states)
      if (state !== null && state.marker !== kept?.marker) this.#retired.add(state.marker);
  }

  #edition(): string {
    this.#count += 1;
    return `e${this.#count}`;
  }

  #uuid(): string {
    const digits = Array.from({ length: 32 }, () => this.#chance.below(16).toString(16)).join('');
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#chance.below(list.length)]!;
  }
}

function folderOf(collection: Collection): string {
  const generation = generationOf(collection);
  return generation === 0 ? collection.collectionId : `${collection.collectionId}.${generation}`;
}

function isState(state: Written | null, record: DocumentRecord | undefined): boolean {
  if (state === null || record === undefined) return state === null && record === undefined;
  return state.rawHash === record.rawHash && record.metadata.edition === state.edition;
}

function refusal(): AppError {
  return new AppError('not_found', 'There is no such document.');
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
