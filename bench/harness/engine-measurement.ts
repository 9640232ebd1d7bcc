import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { present } from '../../src/base/assert.ts';
import { engineKinds, ownEngines } from '../engines/catalogue.ts';
import { EngineProcess } from '../engines/engine-process.ts';
import type { Built, Measured, Opened, Spent } from '../engines/engine-work.ts';
import type { EngineKind } from '../engines/vector-engine.ts';
import { PeerMissing } from '../peers/peer-packages.ts';
import { filters } from '../vectors/tags.ts';
import { prepareVectorSet, type VectorSet } from '../vectors/vector-set.ts';
import type { BenchContext } from './bench-case.ts';
import { effortFor, recallCurve, type Tuned } from './effort.ts';
import { LatencyHistogram } from './histogram.ts';
import { UsageFailure } from './options.ts';
import { interleaved } from './rounds.ts';

/** The recalls at which engines are compared. */
export const recallTargets = [0.95, 0.99] as const;
/** With a filter an engine has to find so much, or as near to it as it comes. */
const filteredRecall = 0.99;
const busySearches = 16;
const searchesLeast = 30;
export const churnShare = 0.2;
/** A peer that replaces slowly is not waited for longer: the report says how many rounds it did. */
const peerChurnMsMax = 300_000;

/** What is measured in every round: an effort, with or without a filter, with one search under way or several. */
export interface Mode {
  readonly name: string;
  readonly effort: number;
  readonly recall: number;
  readonly filter: number | null;
  readonly inFlight: number;
  readonly replacing: boolean;
  /** Measured when all else is done, because replacing leaves its mark on the index. */
  readonly last: boolean;
}

/** One round of a mode, in the figures that tables show. */
export interface ModeFigures {
  readonly searchesPerSecond: number;
  /** Searches per second of CPU time, all threads together: what one core can do. */
  readonly searchesPerCpuSecond: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly replacedPerSecond: number;
}

export interface MeasuredMode extends Mode {
  readonly rounds: readonly ModeFigures[];
}

export interface Churned extends Spent {
  readonly effort: number;
  /** At first, when the index was built of the same rows and nothing was replaced; then after each round. */
  readonly recalls: readonly number[];
}

export interface MeasuredEngine {
  readonly name: string;
  readonly version: string;
  readonly synchronous: boolean;
  readonly built: Built;
  readonly curve: readonly Tuned[];
  readonly modes: readonly MeasuredMode[];
  readonly churned: Churned | null;
  readonly saved: Spent | null;
  readonly loaded: Opened | null;
}

export interface EngineMeasurement {
  readonly set: VectorSet;
  readonly engines: readonly MeasuredEngine[];
  /** Engines that could not be measured, and why. */
  readonly missing: readonly Missing[];
  /** Engines that --engines left out. */
  readonly leftOut: readonly string[];
}

interface Missing {
  readonly name: string;
  readonly reason: string;
}

interface Running {
  readonly kind: EngineKind;
  readonly process: EngineProcess;
  readonly directory: string;
  readonly opened: Opened;
  readonly built: Built;
  curve: readonly Tuned[];
  modes: readonly Mode[];
  /** Why a peer that was measured at first is not any more. */
  failure: string | null;
}

/** Builds every engine over the same vectors, each in its own process, and measures them in interleaved rounds. */
export async function measureEngines(context: BenchContext): Promise<EngineMeasurement> {
  const { options } = context;
  const allOfFile = options.vectorsFile !== null && !options.vectorsTyped;
  const set = await prepareVectorSet({ ...options, rows: allOfFile ? null : options.vectors }, context);
  const root = await mkdtemp(join(tmpdir(), 'quarry-bench-engines-'));
  const running: Running[] = [];
  const missing: Missing[] = [];
  const chosen = chosenKinds(options.engines);
  const leftOut = engineKinds.filter((kind) => !chosen.includes(kind)).map(({ name }) => name);
  try {
    for (const kind of chosen) {
      context.signal.throwIfAborted();
      const directory = join(root, kind.name.replaceAll(/\W/g, '-'));
      const engine = await startOrExplain(kind, set, directory, context);
      if (typeof engine === 'string') missing.push({ name: kind.name, reason: engine });
      else running.push(engine);
    }
    const rounds = await measureRounds(running, context);
    const engines: MeasuredEngine[] = [];
    for (const engine of running) {
      const finished = await unlessFailed(engine, context, () => finishEngine(engine, set, context));
      if (finished === null) missing.push({ name: engine.kind.name, reason: engine.failure ?? '' });
      else engines.push({ ...finished, modes: rounds.get(engine) ?? [] });
    }
    return { set, engines, missing, leftOut };
  } finally {
    await Promise.all(running.map(({ process }) => process.end()));
    await rm(root, { recursive: true, force: true });
  }
}

function chosenKinds(names: readonly string[] | null): readonly EngineKind[] {
  if (names === null) return engineKinds;
  return names.map((wanted) => {
    const kind = engineKinds.find(({ name }) => name === wanted);
    if (kind !== undefined) return kind;
    const known = engineKinds.map(({ name }) => name).join(', ');
    throw new UsageFailure(`There is no engine "${wanted}". Engines: ${known}.`);
  });
}

/** What the step gives; null when the engine, a peer, has failed by then: it is asked nothing more. */
async function unlessFailed<T>(
  engine: Running,
  context: BenchContext,
  step: () => Promise<T>,
): Promise<T | null> {
  if (engine.failure !== null) return null;
  try {
    return await step();
  } catch (error) {
    engine.failure = reasonOf(engine.kind, error as Error, context);
    await engine.process.end();
    return null;
  }
}

/** Why there are no figures of an engine. Of a peer any failure is a finding; our own ends the run. */
function reasonOf(kind: EngineKind, error: Error, { signal, progress }: BenchContext): string {
  if (signal.aborted || (ownEngines.includes(kind) && !(error instanceof PeerMissing))) throw error;
  const [reason = ''] = error.message.split('\n');
  progress.note(`${kind.name}: not measured. ${reason}`);
  return reason;
}

/** The engine, built and tuned, or why there is none. */
async function startOrExplain(
  kind: EngineKind,
  set: VectorSet,
  directory: string,
  context: BenchContext,
): Promise<Running | string> {
  let engine: Running | null = null;
  try {
    kind.version();
    engine = await start(kind, set, directory, context);
    await tune(engine, context);
    return engine;
  } catch (error) {
    await engine?.process.end();
    return reasonOf(kind, error as Error, context);
  }
}

async function start(
  kind: EngineKind,
  set: VectorSet,
  directory: string,
  { options, progress }: BenchContext,
): Promise<Running> {
  await mkdir(directory);
  const process = new EngineProcess(({ what, done, total }) =>
    progress.update(what === 'build' ? 'building' : 'replacing', done, total, `vectors of ${kind.name}`),
  );
  const task = { engine: kind.name, set, directory, url: options.pgvectorUrl, seed: options.seed };
  try {
    const opened = await process.call('open', { ...task, load: false });
    progress.note(`${kind.name}: building over ${set.rows} vectors (${opened.version})`);
    const built = await process.call('build');
    return { kind, process, directory, opened, built, curve: [], modes: [], failure: null };
  } catch (error) {
    await process.end();
    throw error;
  }
}

/** Finds the efforts that reach the recalls, and with them what the rounds have to measure. */
async function tune(engine: Running, { options, progress, signal }: BenchContext): Promise<void> {
  const { kind, process } = engine;
  const recallOf = (filter: number | null) => (effort: number) => {
    signal.throwIfAborted();
    return process.call('recall', { effort, filter, count: options.results });
  };
  const steps = 1 + recallTargets.length + (kind.filters ? filters.length : 0);
  let step = 0;
  const next = (words: string) =>
    progress.update('finding efforts', step++, steps, `of ${kind.name}: ${words}`);
  next('its curve');
  const busy = kind.synchronous ? 1 : busySearches;
  const curve = await recallCurve(kind.efforts, recallOf(null));
  const modes: Mode[] = curve.map((tuned) => ({
    ...tuned,
    name: `effort ${tuned.effort}`,
    filter: null,
    inFlight: busy,
    replacing: false,
    last: false,
  }));
  for (const target of recallTargets) {
    next(`recall ${target}`);
    const tuned = await effortFor(target, curve, kind.efforts, recallOf(null));
    if (tuned === null) continue;
    const mode = { ...tuned, name: `recall ${target}`, filter: null, replacing: false, last: false };
    modes.push({ ...mode, inFlight: busy });
    if (kind.synchronous) continue;
    modes.push({ ...mode, name: `${mode.name}, one at a time`, inFlight: 1 });
    if (!engine.opened.can.replace || target !== recallTargets[0]) continue;
    const last = { ...mode, inFlight: 1, last: true };
    modes.push({ ...last, name: `${mode.name}, not inserting` });
    modes.push({ ...last, name: `${mode.name}, while inserting`, replacing: true });
  }
  for (const [filter, { name }] of kind.filters ? filters.entries() : []) {
    next(`filter ${name}`);
    const filtered = await recallCurve(kind.efforts, recallOf(filter), filteredRecall);
    const tuned =
      (await effortFor(filteredRecall, filtered, kind.efforts, recallOf(filter))) ?? bestOf(filtered);
    modes.push({ ...tuned, name: `filter ${name}`, filter, inFlight: busy, replacing: false, last: false });
  }
  engine.curve = curve;
  engine.modes = modes;
}

async function measureRounds(
  running: readonly Running[],
  context: BenchContext,
): Promise<Map<Running, MeasuredMode[]>> {
  const { options, progress, signal } = context;
  const configurations = running.flatMap((engine) => engine.modes.map((mode) => ({ engine, mode })));
  const found = new Map(configurations.map((configuration) => [configuration, [] as ModeFigures[]]));
  const turns = [false, true].flatMap((last) =>
    interleaved(
      configurations.filter(({ mode }) => mode.last === last),
      options.rounds,
      options.seed,
    ),
  );
  for (const [done, { configuration }] of turns.entries()) {
    signal.throwIfAborted();
    const { engine, mode } = configuration;
    if (engine.failure !== null) continue;
    progress.update('measuring', done, turns.length, `${engine.kind.name}: ${mode.name}`);
    const { effort, filter, inFlight, replacing } = mode;
    const measured = await unlessFailed(engine, context, () =>
      engine.process.call('measure', {
        ...{ effort, filter, inFlight, replacing, searchesLeast },
        count: options.results,
        ms: options.seconds * 1_000,
      }),
    );
    if (measured !== null) found.get(configuration)?.push(figuresOf(measured));
  }
  const byEngine = new Map<Running, MeasuredMode[]>(running.map((engine) => [engine, []]));
  for (const [{ engine, mode }, rounds] of found) byEngine.get(engine)?.push({ ...mode, rounds });
  return byEngine;
}

function figuresOf({ searches, wallMs, cpuMs, latencies, replaced }: Measured): ModeFigures {
  const histogram = new LatencyHistogram();
  histogram.add(latencies);
  return {
    searchesPerSecond: (searches * 1_000) / wallMs,
    searchesPerCpuSecond: (searches * 1_000) / cpuMs,
    p50Ms: histogram.quantileMs(0.5),
    p99Ms: histogram.quantileMs(0.99),
    replacedPerSecond: (replaced * 1_000) / wallMs,
  };
}

/** What is measured once: saving and loading in a fresh process, then replacing a share of the rows again and again. */
async function finishEngine(
  engine: Running,
  set: VectorSet,
  { options, progress, signal }: BenchContext,
): Promise<Omit<MeasuredEngine, 'modes'>> {
  const { kind, process, opened, built, curve, directory } = engine;
  signal.throwIfAborted();
  progress.note(`${kind.name}: saving, loading, replacing`);
  // Saved first: what was replaced in the end may still take its room.
  const saved = opened.can.save ? await process.call('save') : null;
  const churned = opened.can.replace
    ? await churn(engine, options.size === 'full' ? 10 : 3, options.results)
    : null;
  await process.call('close');
  await process.end();
  let loaded: Opened | null = null;
  if (saved !== null) {
    const fresh = new EngineProcess();
    try {
      const task = { engine: kind.name, set, directory, url: null, seed: options.seed, load: true };
      loaded = await fresh.call('open', task);
      await fresh.call('close');
    } finally {
      await fresh.end();
    }
  }
  const { version } = opened;
  return { name: kind.name, version, synchronous: kind.synchronous, built, curve, churned, saved, loaded };
}

async function churn(
  { kind, process, curve, modes }: Running,
  roundsMax: number,
  count: number,
): Promise<Churned> {
  const reached = modes.find(({ name }) => name === `recall ${recallTargets[0]}`);
  const { effort, recall } = reached ?? bestOf(curve);
  const recalls = [recall];
  const spent = { wallMs: 0, cpuMs: 0 };
  const isPeer = !ownEngines.includes(kind);
  for (let round = 0; round < roundsMax && !(isPeer && spent.wallMs >= peerChurnMsMax); round++) {
    const { wallMs, cpuMs } = await process.call('churn', { round, share: churnShare });
    spent.wallMs += wallMs;
    spent.cpuMs += cpuMs;
    recalls.push(await process.call('recall', { effort, filter: null, count }));
  }
  return { ...spent, effort, recalls };
}

/** The point of a curve that finds most, with the least effort of such. */
export function bestOf(curve: readonly Tuned[]): Tuned {
  return present(curve.toSorted((a, b) => b.recall - a.recall)[0], 'a curve has points');
}
