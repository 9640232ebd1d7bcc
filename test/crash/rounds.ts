import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Seeded } from '../store/seeded.ts';
import { Check } from './check.ts';
import { processesBelow } from './child-processes.ts';
import type { Findings } from './findings.ts';
import { Lost, ServerProcess } from './server.ts';
import { builtInModel, type Folder, World } from './world.ts';

/** How a round ends. */
export const endings = [
  'after some answers',
  'at some moment',
  'parser processes first',
  'during a snapshot',
  'during the deletion of a large collection',
  'during the parsing of long files',
  'stopped, and a snapshot damaged',
  'stopped, and a snapshot deleted',
] as const;
export type Ending = (typeof endings)[number];

interface RoundFindings extends Findings {
  pass(message: string): unknown;
  comment(text: string): unknown;
}

const workers = 6;
const snapshotMs = 5_000;
const largeDocuments = 256;
const damagedEvent = 'shard snapshot damaged, rebuilding';

/** Kills a server again and again on one data directory and checks after each start what it has promised. */
export class CrashRounds {
  readonly world: World;
  readonly #t: RoundFindings;
  readonly #chance: Seeded;
  readonly #data: string;
  readonly #start: () => Promise<ServerProcess>;
  readonly #addresses = new Map<string, string>();
  #damaged = false;

  constructor(parts: {
    t: RoundFindings;
    chance: Seeded;
    data: string;
    models?: readonly string[];
    start?: () => Promise<ServerProcess>;
  }) {
    this.#t = parts.t;
    this.#chance = parts.chance;
    this.#data = parts.data;
    this.#start = parts.start ?? (() => ServerProcess.start(parts.data));
    this.world = new World(parts.chance, parts.models);
  }

  async run(rounds: Iterable<Ending>): Promise<void> {
    let server = await this.#start();
    try {
      let round = 0;
      for (const ending of rounds) {
        round += 1;
        await this.#round(server, ending);
        server = await this.#start();
        if (this.#damaged && !server.log.includes(damagedEvent))
          this.#t.fail('damage is told in the log', { kind: 'lost' });
        this.#damaged = false;
        const { world } = this;
        const check = { t: this.#t, server, world, chance: this.#chance, addresses: this.#addresses };
        await new Check(check).all();
        this.#t.pass(`round ${round}, ${ending}: ${world.acknowledged} answers kept`);
      }
    } catch (error) {
      this.#t.comment(server.log);
      throw error;
    } finally {
      await server.kill();
    }
  }

  async #round(server: ServerProcess, ending: Ending): Promise<void> {
    let stopped = false;
    const acknowledged = this.world.acknowledged;
    const goal = this.#chance.below(60);
    const working = Array.from({ length: workers }, () => this.world.work(server, () => stopped));
    const failed = Promise.all(working);
    const kill = () => {
      stopped = true;
      return server.kill();
    };
    const end = async () => {
      await this.#untilEnd(server, ending, {
        kill,
        isEnough: () => this.world.acknowledged - acknowledged >= goal,
      });
      stopped = true;
      if (ending.startsWith('stopped'))
        this.#t.same(await server.stop(), 0, 'the server stops in order', { kind: 'lost' });
      else await kill();
    };
    await Promise.all([failed, end()]);
    if (ending === 'stopped, and a snapshot damaged') this.#damage();
    if (ending === 'stopped, and a snapshot deleted') this.#deleteSnapshot();
  }

  async #untilEnd(
    server: ServerProcess,
    ending: Ending,
    { kill, isEnough }: { readonly kill: () => Promise<void>; readonly isEnough: () => boolean },
  ): Promise<void> {
    switch (ending) {
      case 'after some answers':
        while (!isEnough()) await new Promise((resolve) => setImmediate(resolve));
        return;
      case 'at some moment':
        await wait(this.#chance.below(1_200));
        return;
      case 'parser processes first':
        return this.#killParsers(server);
      case 'during a snapshot':
        await wait(snapshotMs + this.#chance.below(60));
        return;
      case 'during the deletion of a large collection':
        return this.#deleteLarge(server, kill);
      case 'during the parsing of long files':
        return this.#parseLong(server, kill);
      case 'stopped, and a snapshot damaged':
      case 'stopped, and a snapshot deleted':
        await wait(300 + this.#chance.below(700));
    }
  }

  /** Ends random processes below the server at random moments. */
  async #killParsers(server: ServerProcess): Promise<void> {
    const kills = 1 + this.#chance.below(4);
    for (let i = 0; i < kills; i += 1) {
      await wait(this.#chance.below(400));
      const below = processesBelow(server.pid);
      const pid = below[this.#chance.below(below.length)];
      if (pid !== undefined && endProcess(pid)) this.world.parserKills += 1;
    }
  }

  async #deleteLarge(server: ServerProcess, kill: () => Promise<void>): Promise<void> {
    const name = `large ${this.world.acknowledged}`;
    const folder: Folder = {
      ...{ name, exists: [true], models: [builtInModel], isChanging: false },
      ...{ paths: new Map(), users: 0, exclusive: true },
    };
    await server.call('collections/add-collection', {
      ...{ collection_name: name, num_shards: 8, embedding_model: builtInModel },
    });
    this.world.folders.set(name, folder);
    for (let from = 0; from < largeDocuments; from += 64) {
      const documents = Array.from({ length: 64 }, (_, i) => {
        const written = this.world.maker.text();
        folder.paths.set(`${from + i}.txt`, [written]);
        return { path: `${from + i}.txt`, content: written.content, metadata: written.metadata };
      });
      await server.call('documents/add-documents', { collection_name: name, documents });
    }
    const deleting = this.world.deleteFolder(server, folder).catch((error: unknown) => {
      if (!(error instanceof Lost)) throw error;
    });
    await wait(this.#chance.below(30));
    // Once it is answered it must stay gone; otherwise all of it must be there or nothing.
    await kill();
    await deleting;
  }

  async #parseLong(server: ServerProcess, kill: () => Promise<void>): Promise<void> {
    const folder = [...this.world.folders.values()].find((known) => known.exists[0] && !known.exclusive);
    if (folder === undefined) return;
    folder.users += 1;
    const adding = Array.from({ length: 4 }, (_, i) =>
      this.world.add(server, folder, `long-${i}.pdf`, this.world.maker.pdf(200)).catch((error: unknown) => {
        if (!(error instanceof Lost)) throw error;
      }),
    );
    await wait(50 + this.#chance.below(600));
    await kill();
    await Promise.all(adding);
    folder.users -= 1;
  }

  #snapshots(): string[] {
    const folder = join(this.#data, 'index');
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return names
      .filter((name) => name.endsWith('.quarry'))
      .sort()
      .map((name) => join(folder, name));
  }

  #damage(): void {
    const files = this.#snapshots();
    const file = files[this.#chance.below(files.length)];
    if (file === undefined) return;
    this.#damaged = true;
    const { size } = statSync(file);
    const at = this.#chance.below(size);
    if (this.#chance.below(2) === 0) {
      truncateSync(file, at);
    } else {
      const bytes = readFileSync(file);
      bytes[at]! ^= 1 << this.#chance.below(8);
      writeFileSync(file, bytes);
    }
  }

  #deleteSnapshot(): void {
    const files = this.#snapshots();
    const file = files[this.#chance.below(files.length)];
    if (file === undefined) return;
    const whole = this.#chance.below(2) === 0;
    rmSync(whole ? join(file, '..') : file, { recursive: true, force: true });
  }
}

/** Whether there was such a process to end. */
function endProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
