import { isDeepStrictEqual } from 'node:util';
import type { MismatchKind } from '../crash/mismatch-reporter.ts';
import { CrashRounds, type KillMoment, killMoments } from '../crash/rounds.ts';
import { ServerProcess } from '../crash/server.ts';
import { FakeModelService } from '../models/fake-model-service.ts';
import { dataFolderOf, loseDocument } from './model-run.ts';
import type { Measurements, Part, PartContext } from './part.ts';

const defaultMinutes = 10;
const fastKillMoments: readonly KillMoment[] = [
  'after some replies',
  'at a random moment',
  'parser processes first',
];
/** Every `slowKillEvery`th round uses a kill moment that takes seconds. */
const slowKillEvery = 20;
const serviceModel = 'letters';

/** Kills a server or its child processes at random moments and compares it with everything it has acknowledged. */
export const killPart: Part = {
  name: 'kill',
  description: 'random writes, deletes and model changes; kill -9 of random processes at random moments',
  guarantees: [
    { name: 'lost', text: 'no acknowledged write is lost' },
    { name: 'duplicated', text: 'no document is found twice' },
    { name: 'resurrected', text: 'no deleted or replaced document exists again' },
    { name: 'search', text: 'search and counters agree with the store' },
  ],
  async run(context) {
    const service = await FakeModelService.start({
      teardown: (action) => context.onCleanup(action as () => unknown),
    });
    const rounds = new KillRun(context, service);
    return rounds.run();
  },
};

class KillRun {
  readonly #context: PartContext;
  readonly #service: FakeModelService;
  readonly #crashRounds: CrashRounds;
  readonly #killMomentCounts = new Map<KillMoment, number>();
  #starts = 0;
  #count = 0;
  #processKills = 0;
  #isFaultPlanted = false;

  constructor(context: PartContext, service: FakeModelService) {
    this.#context = context;
    this.#service = service;
    this.#crashRounds = new CrashRounds({
      reporter: {
        fail: (message, { kind, ...details }) => context.violate(kind, message, details),
        same: (actual, expected, message, { kind }) => this.#compare(actual, expected, message, kind),
        pass: (message) => context.progress(message),
        comment: () => undefined,
      },
      random: context.random,
      data: dataFolderOf(context),
      models: ['zembed-1', serviceModel],
      start: () => this.#start(),
    });
  }

  async run(): Promise<Measurements> {
    await this.#crashRounds.run(this.#killMoments());
    const { acknowledged, modelChanges } = this.#crashRounds.model;
    return {
      rounds: this.#count,
      starts: this.#starts,
      acknowledgedWrites: acknowledged,
      modelChanges,
      otherProcessesKilled: this.#processKills,
      ...Object.fromEntries(
        [...this.#killMomentCounts].map(([killMoment, count]) => [`rounds ${killMoment}`, count]),
      ),
    };
  }

  *#killMoments(): Generator<KillMoment> {
    const { random, size } = this.#context;
    const isDone = () => {
      if (this.#context.signal.aborted) return true;
      if (this.#context.plantsFault && !this.#isFaultPlanted) return false;
      if (size.rounds !== null && this.#count >= size.rounds) return true;
      // At least one round must run, or the part checks nothing.
      const isBounded = size.rounds === null || size.minutes !== null;
      return this.#count > 0 && isBounded && this.#context.isOver(defaultMinutes);
    };
    while (!isDone()) {
      this.#count += 1;
      const choices = this.#count % slowKillEvery === 0 ? killMoments : fastKillMoments;
      const killMoment = choices[random.below(choices.length)]!;
      this.#killMomentCounts.set(killMoment, (this.#killMomentCounts.get(killMoment) ?? 0) + 1);
      yield killMoment;
    }
  }

  async #start(): Promise<ServerProcess> {
    const { model } = this.#crashRounds;
    this.#processKills += model.parserKills;
    // The fake service keeps every request for assertions; this part needs none of them.
    this.#service.requests.length = 0;
    const server = await ServerProcess.start(dataFolderOf(this.#context), {
      variables: { QUARRY_EMBEDDING_URL: this.#service.url, QUARRY_EMBEDDING_MODEL: serviceModel },
      onSpawn: (child) => this.#context.trackProcess(child),
    });
    this.#starts += 1;
    if (this.#context.plantsFault) this.#isFaultPlanted ||= await loseDocument(server, model);
    return server;
  }

  #compare(actual: unknown, expected: unknown, message: string, kind: MismatchKind): void {
    if (!isDeepStrictEqual(actual, expected)) this.#context.violate(kind, message, { actual, expected });
  }
}
