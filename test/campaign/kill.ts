import { isDeepStrictEqual } from 'node:util';
import type { FindingKind } from '../crash/findings.ts';
import { CrashRounds, type Ending, endings } from '../crash/rounds.ts';
import { ServerProcess } from '../crash/server.ts';
import { ModelService } from '../models/model-service.ts';
import type { Measurements, Part, PartContext } from './part.ts';
import { dataFolder, loseOne } from './world-run.ts';

const defaultMinutes = 10;
const quickEndings: readonly Ending[] = ['after some answers', 'at some moment', 'parser processes first'];
/** Every so many rounds come the endings that take seconds. */
const slowEvery = 20;
const serviceModel = 'letters';

/** Kills a server, or processes below it, at random moments and compares it with all that it acknowledged. */
export const killPart: Part = {
  name: 'kill',
  description: 'random writes, deletes and model changes; kill -9 of random processes at random moments',
  guarantees: [
    { name: 'lost', text: 'no acknowledged write is lost' },
    { name: 'duplicated', text: 'no document is found twice' },
    { name: 'resurrected', text: 'nothing that was deleted or replaced comes back' },
    { name: 'search', text: 'search and counters agree with the store' },
  ],
  async run(context) {
    const service = await ModelService.start({
      teardown: (action) => context.onCleanup(action as () => unknown),
    });
    const rounds = new KillRounds(context, service);
    return rounds.run();
  },
};

class KillRounds {
  readonly #context: PartContext;
  readonly #service: ModelService;
  readonly #rounds: CrashRounds;
  readonly #kinds = new Map<Ending, number>();
  #starts = 0;
  #count = 0;
  #processKills = 0;
  #planted = false;

  constructor(context: PartContext, service: ModelService) {
    this.#context = context;
    this.#service = service;
    this.#rounds = new CrashRounds({
      t: {
        fail: (message, { kind, ...details }) => context.violate(kind, message, details),
        same: (found, wanted, message, { kind }) => this.#same(found, wanted, message, kind),
        pass: (message) => context.progress(message),
        comment: () => undefined,
      },
      chance: context.random,
      data: dataFolder(context),
      models: ['zembed-1', serviceModel],
      start: () => this.#start(),
    });
  }

  async run(): Promise<Measurements> {
    await this.#rounds.run(this.#endings());
    const { acknowledged, modelChanges } = this.#rounds.world;
    return {
      ...{ rounds: this.#count, starts: this.#starts, acknowledgedWrites: acknowledged },
      ...{ modelChanges, otherProcessesKilled: this.#processKills },
      ...Object.fromEntries([...this.#kinds].map(([ending, count]) => [`rounds ${ending}`, count])),
    };
  }

  *#endings(): Generator<Ending> {
    const { random, size } = this.#context;
    const isDone = () => {
      if (this.#context.signal.aborted) return true;
      if (this.#context.plantsFault && !this.#planted) return false;
      if (size.rounds !== null && this.#count >= size.rounds) return true;
      // Without a single round nothing would have been checked.
      const isBounded = size.rounds === null || size.minutes !== null;
      return this.#count > 0 && isBounded && this.#context.isOver(defaultMinutes);
    };
    while (!isDone()) {
      this.#count += 1;
      const choices = this.#count % slowEvery === 0 ? endings : quickEndings;
      const ending = choices[random.below(choices.length)]!;
      this.#kinds.set(ending, (this.#kinds.get(ending) ?? 0) + 1);
      yield ending;
    }
  }

  async #start(): Promise<ServerProcess> {
    const { world } = this.#rounds;
    this.#processKills += world.parserKills;
    // It remembers every request, for tests.
    this.#service.asked.length = 0;
    const server = await ServerProcess.start(dataFolder(this.#context), {
      variables: { QUARRY_EMBEDDING_URL: this.#service.url, QUARRY_EMBEDDING_MODEL: serviceModel },
      onSpawn: (child) => this.#context.ownProcess(child),
    });
    this.#starts += 1;
    if (this.#context.plantsFault) this.#planted ||= await loseOne(server, world);
    return server;
  }

  #same(found: unknown, wanted: unknown, message: string, kind: FindingKind): void {
    if (!isDeepStrictEqual(found, wanted)) this.#context.violate(kind, message, { found, wanted });
  }
}
