import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertDefined } from '../../src/core/assert.ts';
import { engineKinds, ownEngines } from '../engines/catalog.ts';
import { EngineProcess } from '../engines/engine-process.ts';
import type { BuildResult, EngineOpenResult, SearchRunResult, TimeSpent } from '../engines/engine-work.ts';
import type { EngineKind } from '../engines/vector-engine.ts';
import { PeerMissingError } from '../peers/peer-packages.ts';
import { filters } from '../vectors/tags.ts';
import { prepareVectorDataset, type VectorDataset } from '../vectors/vector-dataset.ts';
import type { BenchContext } from './bench-case.ts';
import { LatencyHistogram } from './histogram.ts';
import { BenchUsageError } from './options.ts';
import { findEf, measureRecallCurve, type TunedEf } from './recall-tuning.ts';
import { interleave } from './rounds.ts';

/** Recalls at which engines are compared. */
export const recallTargets = [0.95, 0.99] as const;
/** Target recall with a filter; the nearest reachable recall is used if an engine does not reach it. */
const filteredRecall = 0.99;
const concurrentSearches = 16;
const searchesMin = 30;
export const churnShare = 0.2;
/** Time limit of replacing rows for a peer; the report states the number of completed rounds. */
const peerChurnMsMax = 300_000;

/**
 * A configuration measured in every round: an ef, with or without a filter, with one search in flight or
 * several.
 */
export interface Mode {
  readonly name: string;
  readonly ef: number;
  readonly recall: number;
  readonly filter: number | null;
  readonly inFlight: number;
  readonly isReplacing: boolean;
  /** Whether the mode is measured after all others, because replacing rows alters the index. */
  readonly isLast: boolean;
}

/** Results of one round of a mode, as shown in tables. */
export interface ModeFigures {
  readonly searchesPerSecond: number;
  /** Searches per second of CPU time of all threads: the throughput of one core. */
  readonly searchesPerCpuSecond: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly replacedPerSecond: number;
}

export interface MeasuredMode extends Mode {
  readonly rounds: readonly ModeFigures[];
}

export interface ChurnResult extends TimeSpent {
  readonly ef: number;
  /** Recall of the newly built index, then recall after each round of replacements. */
  readonly recalls: readonly number[];
}

export interface MeasuredEngine {
  readonly name: string;
  readonly version: string;
  readonly synchronous: boolean;
  readonly built: BuildResult;
  readonly curve: readonly TunedEf[];
  readonly modes: readonly MeasuredMode[];
  readonly churned: ChurnResult | null;
  readonly saved: TimeSpent | null;
  readonly loaded: EngineOpenResult | null;
}

export interface EngineMeasurement {
  readonly set: VectorDataset;
  readonly engines: readonly MeasuredEngine[];
  /** Engines that could not be measured, with reasons. */
  readonly missing: readonly UnavailableEngine[];
  /** Engines excluded by --engines. */
  readonly leftOut: readonly string[];
}

interface UnavailableEngine {
  readonly name: string;
  readonly reason: string;
}

interface RunningEngine {
  readonly kind: EngineKind;
  readonly process: EngineProcess;
  readonly directory: string;
  readonly opened: EngineOpenResult;
  readonly built: BuildResult;
  curve: readonly TunedEf[];
  modes: readonly Mode[];
  /** Reason why a peer failed during the measurement; null if it did not. */
  failure: string | null;
}

/**
 * Builds every engine over the same vectors, each in its own process, and measures them in interleaved
 * rounds.
 */
export async function measureEngines(context: BenchContext): Promise<EngineMeasurement> {
  const { options } = context;
  const allOfFile = options.vectorsFile !== null && !options.isVectorsFlagSet;
  const set = await prepareVectorDataset({ ...options, rows: allOfFile ? null : options.vectors }, context);
  const root = await mkdtemp(join(tmpdir(), 'quarry-bench-engines-'));
  const running: RunningEngine[] = [];
  const missing: UnavailableEngine[] = [];
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
      const finished = await runUnlessFailed(engine, context, () => finishEngine(engine, set, context));
      if (finished === null) missing.push({ name: engine.kind.name, reason: engine.failure ?? '' });
      else engines.push({ ...finished, modes: rounds.get(engine) ?? [] });
    }
    return { set, engines, missing, leftOut };
  } finally {
    await Promise.all(running.map(({ process }) => process.terminate()));
    await rm(root, { recursive: true, force: true });
  }
}

function chosenKinds(names: readonly string[] | null): readonly EngineKind[] {
  if (names === null) return engineKinds;
  return names.map((wanted) => {
    const kind = engineKinds.find(({ name }) => name === wanted);
    if (kind !== undefined) return kind;
    const known = engineKinds.map(({ name }) => name).join(', ');
    throw new BenchUsageError(`There is no engine "${wanted}". Engines: ${known}.`);
  });
}

/** Runs a step; returns null if the engine, a peer, has failed, and skips all its later steps. */
async function runUnlessFailed<T>(
  engine: RunningEngine,
  context: BenchContext,
  step: () => Promise<T>,
): Promise<T | null> {
  if (engine.failure !== null) return null;
  try {
    return await step();
  } catch (error) {
    engine.failure = reasonOf(engine.kind, error as Error, context);
    await engine.process.terminate();
    return null;
  }
}

/**
 * Returns the reason why an engine has no results. A failure of a peer is reported; a failure of Quarry ends
 * the run.
 */
function reasonOf(kind: EngineKind, error: Error, { signal, progress }: BenchContext): string {
  if (signal.aborted || (ownEngines.includes(kind) && !(error instanceof PeerMissingError))) throw error;
  const [reason = ''] = error.message.split('\n');
  progress.note(`${kind.name}: not measured. ${reason}`);
  return reason;
}

/** Returns the built and tuned engine, or the reason why it is unavailable. */
async function startOrExplain(
  kind: EngineKind,
  set: VectorDataset,
  directory: string,
  context: BenchContext,
): Promise<RunningEngine | string> {
  let engine: RunningEngine | null = null;
  try {
    kind.version();
    engine = await start(kind, set, directory, context);
    await tune(engine, context);
    return engine;
  } catch (error) {
    await engine?.process.terminate();
    return reasonOf(kind, error as Error, context);
  }
}

async function start(
  kind: EngineKind,
  set: VectorDataset,
  directory: string,
  { options, progress }: BenchContext,
): Promise<RunningEngine> {
  await mkdir(directory);
  const process = new EngineProcess(({ method, done, total }) =>
    progress.update(method === 'build' ? 'building' : 'replacing', done, total, `vectors of ${kind.name}`),
  );
  const task = { engine: kind.name, set, directory, url: options.pgvectorUrl, seed: options.seed };
  try {
    const opened = await process.call('open', { ...task, load: false });
    progress.note(`${kind.name}: building over ${set.rows} vectors (${opened.version})`);
    const built = await process.call('build');
    return { kind, process, directory, opened, built, curve: [], modes: [], failure: null };
  } catch (error) {
    await process.terminate();
    throw error;
  }
}

/** Finds the efs that reach the target recalls, and derives the modes to measure. */
async function tune(engine: RunningEngine, { options, progress, signal }: BenchContext): Promise<void> {
  const { kind, process } = engine;
  const recallOf = (filter: number | null) => (ef: number) => {
    signal.throwIfAborted();
    return process.call('recall', { ef, filter, count: options.results });
  };
  const steps = 1 + recallTargets.length + (kind.filters ? filters.length : 0);
  let step = 0;
  const reportStep = (words: string) =>
    progress.update('finding efforts', step++, steps, `of ${kind.name}: ${words}`);
  reportStep('its curve');
  const inFlight = kind.synchronous ? 1 : concurrentSearches;
  const curve = await measureRecallCurve(kind.efRange, recallOf(null));
  const modes: Mode[] = curve.map((tuned) => ({
    ...tuned,
    name: `effort ${tuned.ef}`,
    filter: null,
    inFlight,
    isReplacing: false,
    isLast: false,
  }));
  for (const target of recallTargets) {
    reportStep(`recall ${target}`);
    const tuned = await findEf(target, curve, kind.efRange, recallOf(null));
    if (tuned === null) continue;
    const mode = { ...tuned, name: `recall ${target}`, filter: null, isReplacing: false, isLast: false };
    modes.push({ ...mode, inFlight });
    if (kind.synchronous) continue;
    modes.push({ ...mode, name: `${mode.name}, one at a time`, inFlight: 1 });
    if (!engine.opened.capabilities.replace || target !== recallTargets[0]) continue;
    const isLast = { ...mode, inFlight: 1, last: true };
    modes.push({ ...isLast, name: `${mode.name}, not inserting` });
    modes.push({ ...isLast, name: `${mode.name}, while inserting`, isReplacing: true });
  }
  for (const [filter, { name }] of kind.filters ? filters.entries() : []) {
    reportStep(`filter ${name}`);
    const filtered = await measureRecallCurve(kind.efRange, recallOf(filter), filteredRecall);
    const tuned =
      (await findEf(filteredRecall, filtered, kind.efRange, recallOf(filter))) ?? bestPoint(filtered);
    modes.push({ ...tuned, name: `filter ${name}`, filter, inFlight, isReplacing: false, isLast: false });
  }
  engine.curve = curve;
  engine.modes = modes;
}

async function measureRounds(
  running: readonly RunningEngine[],
  context: BenchContext,
): Promise<Map<RunningEngine, MeasuredMode[]>> {
  const { options, progress, signal } = context;
  const configurations = running.flatMap((engine) => engine.modes.map((mode) => ({ engine, mode })));
  const found = new Map(configurations.map((configuration) => [configuration, [] as ModeFigures[]]));
  const steps = [false, true].flatMap((isLast) =>
    interleave(
      configurations.filter(({ mode }) => mode.isLast === isLast),
      options.rounds,
      options.seed,
    ),
  );
  for (const [done, { configuration }] of steps.entries()) {
    signal.throwIfAborted();
    const { engine, mode } = configuration;
    if (engine.failure !== null) continue;
    progress.update('measuring', done, steps.length, `${engine.kind.name}: ${mode.name}`);
    const { ef, filter, inFlight, isReplacing } = mode;
    const measured = await runUnlessFailed(engine, context, () =>
      engine.process.call('measure', {
        ...{ ef, filter, inFlight, isReplacing, searchesMin },
        count: options.results,
        ms: options.seconds * 1_000,
      }),
    );
    if (measured !== null) found.get(configuration)?.push(figuresOf(measured));
  }
  const byEngine = new Map<RunningEngine, MeasuredMode[]>(running.map((engine) => [engine, []]));
  for (const [{ engine, mode }, rounds] of found) byEngine.get(engine)?.push({ ...mode, rounds });
  return byEngine;
}

function figuresOf({ searches, wallMs, cpuMs, latencies, replaced }: SearchRunResult): ModeFigures {
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

/**
 * Runs the one-time measurements: saving, loading in a new process, then replacing a share of the rows
 * repeatedly.
 */
async function finishEngine(
  engine: RunningEngine,
  set: VectorDataset,
  { options, progress, signal }: BenchContext,
): Promise<Omit<MeasuredEngine, 'modes'>> {
  const { kind, process, opened, built, curve, directory } = engine;
  signal.throwIfAborted();
  progress.note(`${kind.name}: saving, loading, replacing`);
  // Saved before the replacements, because replaced rows may still occupy space.
  const saved = opened.capabilities.save ? await process.call('save') : null;
  const churned = opened.capabilities.replace
    ? await churn(engine, options.size === 'full' ? 10 : 3, options.results)
    : null;
  await process.call('close');
  await process.terminate();
  let loaded: EngineOpenResult | null = null;
  if (saved !== null) {
    const fresh = new EngineProcess();
    try {
      const task = { engine: kind.name, set, directory, url: null, seed: options.seed, load: true };
      loaded = await fresh.call('open', task);
      await fresh.call('close');
    } finally {
      await fresh.terminate();
    }
  }
  const { version } = opened;
  return { name: kind.name, version, synchronous: kind.synchronous, built, curve, churned, saved, loaded };
}

async function churn(
  { kind, process, curve, modes }: RunningEngine,
  roundsMax: number,
  count: number,
): Promise<ChurnResult> {
  const reached = modes.find(({ name }) => name === `recall ${recallTargets[0]}`);
  const { ef, recall } = reached ?? bestPoint(curve);
  const recalls = [recall];
  const spent = { wallMs: 0, cpuMs: 0 };
  const isPeer = !ownEngines.includes(kind);
  for (let round = 0; round < roundsMax && !(isPeer && spent.wallMs >= peerChurnMsMax); round++) {
    const { wallMs, cpuMs } = await process.call('churn', { round, share: churnShare });
    spent.wallMs += wallMs;
    spent.cpuMs += cpuMs;
    recalls.push(await process.call('recall', { ef, filter: null, count }));
  }
  return { ...spent, ef, recalls };
}

/** Returns the point of a curve with the highest recall; among equals, the one with the lowest ef. */
export function bestPoint(curve: readonly TunedEf[]): TunedEf {
  return assertDefined(curve.toSorted((a, b) => b.recall - a.recall)[0], 'a curve has points');
}
