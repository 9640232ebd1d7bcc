import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestRandom } from '../storage/test-random.ts';
import { waitUntil } from '../timeouts.ts';
import { ModelCheck } from './check.ts';
import { descendantsOf } from './child-processes.ts';
import { builtInModel, type CrashCollection, CrashModel } from './crash-model.ts';
import type { MismatchReporter } from './mismatch-reporter.ts';
import { ServerGoneError, ServerProcess } from './server.ts';

/** Moment at which a round kills or stops the server. */
export const killMoments = [
  'after some replies',
  'at a random moment',
  'parser processes first',
  'during a snapshot',
  'during the deletion of a large collection',
  'during the parsing of long files',
  'stopped, and a snapshot damaged',
  'stopped, and a snapshot deleted',
] as const;
export type KillMoment = (typeof killMoments)[number];

interface RoundReporter extends MismatchReporter {
  pass(message: string): unknown;
  comment(text: string): unknown;
}

const workers = 6;
const snapshotMs = 5_000;
/** Time of writes before a snapshot during which the server is killed. */
const snapshotWritesMs = 1_000;
const largeDocuments = 256;
/** Short, because the moment is about the number of documents and not about their vectors. */
const largeWordsMax = 20;
const damagedEvent = 'shard snapshot damaged, rebuilding';

/** Repeatedly kills a server on one data directory and checks its guarantees after each start. */
export class CrashRounds {
  readonly model: CrashModel;
  readonly #reporter: RoundReporter;
  readonly #random: TestRandom;
  readonly #data: string;
  readonly #start: () => Promise<ServerProcess>;
  readonly #fileUrls = new Map<string, string>();
  /** Path of the snapshot that was damaged in this round. */
  #damagedSnapshot: string | null = null;
  /** The latest server. */
  #server: ServerProcess | null = null;
  #isClosed = false;

  constructor(parts: {
    reporter: RoundReporter;
    random: TestRandom;
    data: string;
    models?: readonly string[];
    start?: () => Promise<ServerProcess>;
  }) {
    this.#reporter = parts.reporter;
    this.#random = parts.random;
    this.#data = parts.data;
    this.#start = parts.start ?? (() => ServerProcess.start(parts.data));
    this.model = new CrashModel(parts.random, parts.models);
  }

  /** A round of several moments, in this order, is killed or stopped once, at the last one. */
  async run(rounds: Iterable<KillMoment | readonly KillMoment[]>): Promise<void> {
    let server = await this.#startServer();
    try {
      let round = 0;
      for (const one of rounds) {
        const moments = [one].flat();
        round += 1;
        await this.#round(server, moments);
        if (this.#isClosed) return;
        server = await this.#startServer();
        await this.#checkDamageLogged(server);
        const { model } = this;
        const check = {
          mismatches: this.#reporter,
          server,
          model,
          random: this.#random,
          fileUrls: this.#fileUrls,
        };
        await new ModelCheck(check).checkAll();
        this.#reporter.pass(`round ${round}, ${moments.join(' and ')}: ${model.acknowledged} answers kept`);
      }
    } catch (error) {
      this.#reporter.comment(server.log);
      throw error;
    } finally {
      await server.kill();
    }
  }

  /** Ends the rounds and their server before `run` has returned, which happens at the time limit of a test. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#server?.kill();
  }

  async #startServer(): Promise<ServerProcess> {
    const server = await this.#start();
    this.#server = server;
    if (this.#isClosed) await server.kill();
    return server;
  }

  async #round(server: ServerProcess, moments: readonly KillMoment[]): Promise<void> {
    if (moments.includes('during a snapshot')) await wait(snapshotMs - snapshotWritesMs);
    let stopped = false;
    const acknowledged = this.model.acknowledged;
    const goal = this.#random.below(60);
    let reachGoal: () => void;
    const goalReached = new Promise<void>((resolve) => {
      reachGoal = resolve;
    });
    // The workers call this after each reply.
    const isStopped = () => {
      if (this.#isClosed || this.model.acknowledged - acknowledged >= goal) reachGoal();
      return stopped || this.#isClosed;
    };
    const working = Array.from({ length: workers }, () => this.model.work(server, isStopped));
    const failed = Promise.all(working);
    const requests: Promise<void>[] = [];
    const end = async () => {
      for (const moment of moments) await this.#waitForKillMoment(server, moment, { requests, goalReached });
      stopped = true;
      if (moments.some((moment) => moment.startsWith('stopped')))
        this.#reporter.same(await server.stop(), 0, 'the server stops in order', { kind: 'lost' });
      else await server.kill();
      await Promise.all(requests);
    };
    await Promise.all([failed, end()]);
    if (moments.includes('stopped, and a snapshot damaged')) this.#damageSnapshot();
    if (moments.includes('stopped, and a snapshot deleted')) this.#deleteSnapshot();
  }

  async #waitForKillMoment(
    server: ServerProcess,
    killMoment: KillMoment,
    { requests, goalReached }: { readonly requests: Promise<void>[]; readonly goalReached: Promise<void> },
  ): Promise<void> {
    switch (killMoment) {
      case 'after some replies':
        return goalReached;
      case 'at a random moment':
        await wait(this.#random.below(1_200));
        return;
      case 'parser processes first':
        return this.#killParsers(server);
      case 'during a snapshot':
        await wait(snapshotWritesMs + this.#random.below(60));
        return;
      case 'during the deletion of a large collection':
        await this.#beginDeletion(server, requests);
        await wait(this.#random.below(30));
        return;
      case 'during the parsing of long files':
        this.#beginParsing(server, requests);
        await wait(50 + this.#random.below(600));
        return;
      case 'stopped, and a snapshot damaged':
      case 'stopped, and a snapshot deleted':
        await wait(100 + this.#random.below(400));
    }
  }

  /** Kills random child processes of the server at random moments. */
  async #killParsers(server: ServerProcess): Promise<void> {
    const kills = 1 + this.#random.below(4);
    for (let i = 0; i < kills; i += 1) {
      await wait(this.#random.below(400));
      const descendants = descendantsOf(server.pid);
      const pid = descendants[this.#random.below(descendants.length)];
      if (pid !== undefined && killProcess(pid)) this.model.parserKills += 1;
    }
  }

  /** Once acknowledged, the deletion must persist; otherwise the collection must be complete or absent. */
  async #beginDeletion(server: ServerProcess, requests: Promise<void>[]): Promise<void> {
    const name = `large ${this.model.acknowledged}`;
    const collection: CrashCollection = {
      name,
      possibleExists: [true],
      possibleModels: [builtInModel],
      isModelChanging: false,
      paths: new Map(),
      activeRequests: 0,
      isExclusive: true,
    };
    await server.call('collections/add-collection', {
      collection_name: name,
      num_shards: 8,
      embedding_model: builtInModel,
    });
    this.model.collections.set(name, collection);
    for (let from = 0; from < largeDocuments; from += 64) {
      const documents = Array.from({ length: 64 }, (_, i) => {
        const documentState = this.model.generator.text(largeWordsMax);
        collection.paths.set(`${from + i}.txt`, [documentState]);
        return { path: `${from + i}.txt`, content: documentState.content, metadata: documentState.metadata };
      });
      await server.call('documents/add-documents', { collection_name: name, documents });
    }
    requests.push(this.model.deleteCollection(server, collection).catch(ignoreGoneServer));
  }

  #beginParsing(server: ServerProcess, requests: Promise<void>[]): void {
    const collection = [...this.model.collections.values()].find(
      (known) => known.possibleExists[0] && !known.isExclusive,
    );
    if (collection === undefined) return;
    for (let i = 0; i < 4; i += 1) {
      collection.activeRequests += 1;
      const adding = this.model.add(server, collection, `long-${i}.pdf`, this.model.generator.pdf(200));
      const ended = () => {
        collection.activeRequests -= 1;
      };
      requests.push(adding.catch(ignoreGoneServer).finally(ended));
    }
  }

  /** The log of a server is read from another pipe than its address, so the event may arrive after it. */
  async #checkDamageLogged(server: ServerProcess): Promise<void> {
    const path = this.#damagedSnapshot;
    this.#damagedSnapshot = null;
    if (path === null) return;
    const isLogged = () => server.log.includes(damagedEvent);
    await waitUntil('the damaged snapshot is logged', isLogged).catch(() => {});
    if (isLogged()) return;
    this.#reporter.fail(`the damaged snapshot is logged: ${path}`, { kind: 'lost' });
    this.#reporter.comment(server.log);
  }

  /**
   * Snapshots that the next start loads. While the vectors of a collection are replaced, it has two folders,
   * and the start deletes one of them unread.
   */
  #snapshots(): string[] {
    const folder = join(this.#data, 'index');
    const collections = readdirSync(folder).map((name) => ({ name, collectionId: name.split('.')[0] }));
    return collections
      .filter(({ collectionId }) => collections.filter((c) => c.collectionId === collectionId).length === 1)
      .flatMap(({ name }) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)))
      .filter((path) => path.endsWith('.quarry'))
      .sort();
  }

  #damageSnapshot(): void {
    const files = this.#snapshots();
    const file = files[this.#random.below(files.length)];
    if (file === undefined) return;
    this.#damagedSnapshot = file;
    const { size } = statSync(file);
    const at = this.#random.below(size);
    if (this.#random.below(2) === 0) {
      truncateSync(file, at);
    } else {
      const bytes = readFileSync(file);
      bytes[at]! ^= 1 << this.#random.below(8);
      writeFileSync(file, bytes);
    }
  }

  /** Keeps a damaged snapshot, which the next start must report. */
  #deleteSnapshot(): void {
    const damaged = this.#damagedSnapshot;
    const files = this.#snapshots().filter((path) => path !== damaged);
    const file = files[this.#random.below(files.length)];
    if (file === undefined) return;
    const mayDeleteFolder = damaged === null || dirname(damaged) !== dirname(file);
    const whole = mayDeleteFolder && this.#random.below(2) === 0;
    rmSync(whole ? join(file, '..') : file, { recursive: true, force: true });
  }
}

function ignoreGoneServer(error: unknown): void {
  if (!(error instanceof ServerGoneError)) throw error;
}

/** Returns false if the process no longer exists. */
function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
