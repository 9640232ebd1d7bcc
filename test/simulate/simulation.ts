import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import type { Collection } from '../../src/storage/collections.ts';
import type { DocumentRecord } from '../../src/storage/documents.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { ExpectationFailedError, type Store } from '../../src/storage/store.ts';
import type { TestRandom } from '../storage/test-random.ts';
import type { Test } from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { FlakyStore } from './flaky-store.ts';
import { openServerComponents, type ServerComponents } from './server-components.ts';
import { checkCollection, checkNoOrphans, findPaths, type SimulationContext } from './simulation-checks.ts';
import {
  type CollectionModel,
  type DocumentState,
  isState,
  pickRandom,
  SimulationModel,
} from './simulation-model.ts';

const organizationId = '00000000-0000-4000-8000-000000000001';
const pathsMax = 8;
const names = ['letters', 'ledgers'];
const shardCounts = [1, 8];
const runningMax = 5;

/** Random work on the modules of the server over one store, with a plain map of the expected results. */
export class Simulation {
  readonly #t: Test;
  readonly #random: TestRandom;
  readonly #folder: string;
  readonly #store: Store;
  readonly #expected: SimulationModel;
  readonly #busyKeys = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #time = 1_700_000_000_000;
  #flakyStore: FlakyStore;
  #components: ServerComponents | null = null;
  #isCrashed = false;
  readonly counts = { done: 0, refused: 0, crashes: 0, restarts: 0, failedWrites: 0, modelsChanged: 0 };

  constructor(t: Test, random: TestRandom, folder: string, store: Store = new MemoryStore()) {
    this.#store = store;
    this.#t = t;
    this.#random = random;
    this.#folder = folder;
    this.#flakyStore = new FlakyStore(this.#store, random);
    this.#expected = new SimulationModel(names, random);
  }

  async run(steps: number): Promise<void> {
    await this.#start();
    for (let step = 1; step <= steps; step += 1) {
      await this.#step();
      if (step % 60 === 0) await this.#check();
    }
    await this.#deleteEverything();
    await this.#check();
    await this.#components!.close();
  }

  async #start(): Promise<void> {
    this.#isCrashed = false;
    this.#countFailed();
    this.#flakyStore = new FlakyStore(this.#store, this.#random);
    this.#components = await openServerComponents({
      store: this.#flakyStore,
      folder: this.#folder,
      clock: { now: () => this.#time, monotonic: () => this.#time },
      random: { uuid: () => this.#randomUuid(), bytes: (count) => new Uint8Array(count) },
      parse: (rawHash) => this.#parse(rawHash),
    });
    this.#flakyStore.failurePercent = this.#random.below(3) * 4;
  }

  async #step(): Promise<void> {
    await runEventLoopTurns(this.#random.below(12));
    this.#time += this.#random.below(400);
    const roll = this.#random.below(100);
    if (roll < 2) return this.#restart();
    if (roll < 4) return this.#crash();
    if (roll < 8) return this.#ignoreRejection(() => this.#components!.indexes.snapshot());
    if (roll < 10) this.#time += limits.garbageDelayMs;
    if (roll < 14) return this.#ignoreRejection(() => this.#components!.clean());
    if (roll < 16) return this.#ignoreRejection(() => this.#changeModel());
    if (this.#running.size >= runningMax) return;
    const model = pickRandom(this.#random, [...this.#expected.collections.values()]);
    if (roll < 22) return this.#runInBackground(model.name, () => this.#changeCollection(model, roll));
    const path = `${this.#random.below(pathsMax)}.txt`;
    this.#runInBackground(`${model.name} ${path}`, () => this.#changeDocument(model, path, roll));
  }

  /** Runs internal work that a failing store may reject; no user request depends on it. */
  async #ignoreRejection(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof AppError) && !(error instanceof ExpectationFailedError)) throw error;
    }
  }

  #runInBackground(key: string, work: () => Promise<void>): void {
    const [model = ''] = key.split(' ');
    const conflicting = [...this.#busyKeys].some(
      (other) => other === key || other === model || other.startsWith(`${key} `),
    );
    if (conflicting) return;
    this.#busyKeys.add(key);
    const run: Promise<void> = work()
      .catch((error: unknown) => void this.#t.fail(`${key}: ${String(error)}`, { error }))
      .finally(() => {
        this.#busyKeys.delete(key);
        this.#running.delete(run);
      });
    this.#running.add(run);
  }

  async #changeCollection(model: CollectionModel, roll: number): Promise<void> {
    const components = this.#components!;
    const known = components.collections.find(organizationId, model.name);
    if (known === undefined) {
      const collection = {
        collectionId: this.#randomUuid(),
        organizationId,
        name: model.name,
        shards: pickRandom(this.#random, shardCounts),
        createdAt: this.#time,
      };
      model.possibleExists = [false, true];
      await this.#requestWithOutcome(
        () => components.addCollection(collection),
        (states) => {
          model.possibleExists = states.map((after) => after);
        },
      );
    } else if (roll < 18) {
      model.possibleExists = [true, false];
      await this.#requestWithOutcome(
        () => components.deleteCollection(known),
        (states) => {
          model.possibleExists = states.map((after) => !after);
          if (model.possibleExists.length === 1 && !model.possibleExists[0])
            this.#expected.forgetCollection(model);
        },
      );
    }
  }

  async #changeDocument(model: CollectionModel, path: string, roll: number): Promise<void> {
    const components = this.#components!;
    const collection = components.collections.find(organizationId, model.name);
    if (collection === undefined) return;
    const [before = null] = model.paths.get(path) ?? [];
    if (roll < 60) {
      const after = this.#expected.createState();
      await this.#changeDocumentState(model, path, after, () => this.#add(collection, path, after));
    } else if (roll < 72 && before !== null) {
      const after = { ...before, edition: this.#expected.nextEdition() };
      const metadata = { edition: after.edition };
      await this.#changeDocumentState(model, path, after, () =>
        components.writer.updateMetadata(collection, path, { metadata }),
      );
    } else if (roll < 84) {
      await this.#changeDocumentState(model, path, null, async () => {
        if ((await components.writer.remove(collection, [path])).length === 0) throw rejectedError();
      });
    } else if (roll < 90 && before !== null) {
      await this.#changeDocumentState(model, path, before, () =>
        components.writer.retry(collection, path, 'not_parsed'),
      );
    } else await this.#query(collection, path);
  }

  async #add(collection: Collection, path: string, documentState: DocumentState): Promise<void> {
    const { blobs, writer, ingest } = this.#components!;
    const common = { path, metadata: { edition: documentState.edition }, overwrite: true };
    const { text: whole, rawHash } = documentState;
    const size = Buffer.byteLength(whole);
    if (this.#expected.findFile(rawHash) === undefined) {
      const contentKind = 'text' as const;
      const pages = [whole];
      const { version } = await writer.add(collection, {
        ...common,
        isBatched: this.#random.below(2) === 0,
        contentKind,
        contentType: 'text/plain',
        rawHash,
        size,
        pages,
      });
      // A waiting caller must get a result regardless of the outcome of the document.
      if (this.#random.below(3) === 0) await ingest.waitUntilSettled(version, AbortSignal.timeout(20));
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

  /** Once `indexed` has been read, the next query must find the document. */
  async #query(collection: Collection, path: string): Promise<void> {
    const { documents, search, versions } = this.#components!;
    const record = documents.get(collection.collectionId, path);
    if (record?.status !== 'indexed') return;
    const marker = this.#markerOf(record);
    const found = await findPaths(this.#components!, collection, marker);
    if (this.#isCrashed || this.#components!.search !== search) return;
    if (found.join() !== path) this.#t.fail(`${path} is indexed and found as [${found}] by ${marker}`);
    if (versions.get(collection.collectionId, record.version) === undefined)
      this.#t.fail('its version is missing');
  }

  async #changeDocumentState(
    model: CollectionModel,
    path: string,
    after: DocumentState | null,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const [before = null] = model.paths.get(path) ?? [];
    model.paths.set(path, [before, after]);
    await this.#requestWithOutcome(work, (states) => {
      const keptState = states.map((done) => (done ? after : before));
      model.paths.set(path, keptState);
      if (keptState.length === 1) this.#expected.markRemoved([before, after], keptState[0]!);
    });
  }

  /** Passes the possible outcomes to `conclude`: done, not done, or both after a crash. */
  async #requestWithOutcome(
    work: () => Promise<unknown>,
    conclude: (states: readonly boolean[]) => void,
  ): Promise<void> {
    try {
      await work();
      this.counts.done += 1;
      conclude([true]);
    } catch (error) {
      if (this.#isCrashed) return conclude([false, true]);
      if (!(error instanceof AppError)) throw error;
      this.counts.refused += 1;
      conclude([false]);
    }
  }

  async #restart(): Promise<void> {
    await Promise.all(this.#running);
    await this.#components!.close();
    this.counts.restarts += 1;
    await this.#start();
  }

  async #crash(): Promise<void> {
    this.#isCrashed = true;
    this.#flakyStore.crash();
    await Promise.all(this.#running);
    await this.#components!.simulateCrash();
    this.counts.crashes += 1;
    await this.#start();
    for (const model of this.#expected.collections.values()) this.#resolveAfterCrash(model);
  }

  /** After a crash, the store decides the outcome of each request in flight; it must be one of the possible states. */
  #resolveAfterCrash(model: CollectionModel): Collection | undefined {
    const { collections, documents } = this.#components!;
    const collection = collections.find(organizationId, model.name);
    if (!model.possibleExists.includes(collection !== undefined))
      this.#t.fail(`${model.name}: ${model.possibleExists}`);
    model.possibleExists = [collection !== undefined];
    if (collection === undefined) {
      this.#expected.forgetCollection(model);
      return undefined;
    }
    for (const [path, states] of model.paths) {
      const record = documents.get(collection.collectionId, path);
      const keptState = states.find((state) => isState(state, record));
      if (keptState === undefined) {
        this.#t.fail(`${model.name} ${path} has an impossible state`, { states, record });
        continue;
      }
      this.#expected.markRemoved(states, keptState);
      if (keptState === null) model.paths.delete(path);
      else model.paths.set(path, [keptState]);
    }
    return collection;
  }

  async #deleteEverything(): Promise<void> {
    await this.#waitUntilIdle();
    for (const model of this.#expected.collections.values()) {
      const known = this.#components!.collections.find(organizationId, model.name);
      if (known === undefined) continue;
      const paths = [...model.paths.keys()];
      await this.#components!.writer.remove(known, paths);
      for (const path of paths) {
        this.#expected.markRemoved(model.paths.get(path)!, null);
        model.paths.delete(path);
      }
    }
  }

  async #waitUntilIdle(): Promise<void> {
    this.#countFailed();
    this.#flakyStore.failurePercent = 0;
    await Promise.all(this.#running);
    const deadline = performance.now() + testEventMsMax;
    for (let turn = 0; this.#components!.ingest.depth > 0 || (await this.#isChanging()); turn += 1) {
      if (performance.now() > deadline)
        throw new Error(`${this.#components!.ingest.depth} documents stay pending`);
      this.#time += 500;
      this.#components!.ingest.start();
      await runEventLoopTurns(4);
      if (turn > 500) await sleep(1);
    }
  }

  #countFailed(): void {
    this.counts.failedWrites += this.#flakyStore.failedWrites;
    this.#flakyStore.failedWrites = 0;
  }

  async #changeModel(): Promise<void> {
    const { collections, changeModel } = this.#components!;
    const known = collections.find(organizationId, pickRandom(this.#random, names));
    if (known === undefined) return;
    await changeModel(known);
    this.counts.modelsChanged += 1;
  }

  /** Whether a collection is changing its model or still has vectors of the previous one. */
  async #isChanging(): Promise<boolean> {
    const all = await this.#components!.collections.listAll();
    return all.some(({ vectors }) => vectors !== undefined && (vectors.next !== null || vectors.hasRemains));
  }

  async #check(): Promise<void> {
    const failures = this.#flakyStore.failurePercent;
    await this.#waitUntilIdle();
    const context: SimulationContext = {
      t: this.#t,
      components: this.#components!,
      expected: this.#expected,
      store: this.#store,
      folder: this.#folder,
    };
    const records: DocumentRecord[] = [];
    for (const model of this.#expected.collections.values()) {
      const collection = this.#resolveAfterCrash(model);
      if (collection !== undefined) records.push(...(await checkCollection(context, model, collection)));
    }
    this.#time += limits.garbageDelayMs + 1;
    await this.#components!.indexes.snapshot();
    await this.#components!.clean();
    await checkNoOrphans(context, records);
    this.#flakyStore.failurePercent = failures;
  }

  async #parse(rawHash: string): Promise<string[] | null> {
    await runEventLoopTurns(this.#random.below(10));
    const documentState = this.#expected.findFile(rawHash)!;
    if (documentState.parseResult === 'failure' || this.#random.below(10) === 0)
      throw new Error('the parser fails');
    return documentState.parseResult === 'damaged' ? null : [documentState.text];
  }

  #markerOf(record: DocumentRecord): string {
    const states = this.#expected.collections.get(
      this.#components!.collections.findById(record.collectionId)!.name,
    )!.paths;
    return states.get(record.path)![0]!.marker;
  }

  #randomUuid(): string {
    const digits = Array.from({ length: 32 }, () => this.#random.below(16).toString(16)).join('');
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
  }
}

function rejectedError(): AppError {
  return new AppError('not_found', 'The document does not exist.');
}

async function runEventLoopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
