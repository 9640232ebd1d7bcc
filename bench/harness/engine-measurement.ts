import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineKinds, ownEngines } from '../engines/catalog.ts';
import { EngineProcess } from '../engines/engine-process.ts';
import type { BuildResult, EngineOpenResult, SearchRunResult, TimeSpent } from '../engines/engine-work.ts';
import type { EngineKind } from '../engines/vector-engine.ts';
import { PeerMissingError } from '../peers/peer-packages.ts';
import { prepareVectorDataset, type VectorDataset } from '../vectors/vector-dataset.ts';
import type { BenchContext } from './bench-case.ts';
import { type Mode, tuneEngine } from './engine-tuning.ts';
import { BenchUsageError } from './flag-specs.ts';
import { LatencyHistogram } from './histogram.ts';
import { isInterrupted } from './interruption.ts';
import { bestPoint, type TunedEf } from './recall-tuning.ts';
import { interleave } from './rounds.ts';

const searchesMin = 30;
export const churnShare = 0.2;
/** Time limit of replacing rows for a peer; the report states the number of completed rounds. */
const peerChurnMsMax = 300_000;

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
  /** Without those that failed. Of an interrupted run, engines that were built. */
  readonly engines: readonly MeasuredEngine[];
  /** Engines that could not be measured, with reasons. */
  readonly missing: readonly UnavailableEngine[];
  /** Engines excluded by --engines. */
  readonly leftOut: readonly string[];
  /** False if the run was interrupted. */
  readonly complete: boolean;
}

interface UnavailableEngine {
  readonly name: string;
  readonly reason: string;
}

export interface RunningEngine {
  readonly kind: EngineKind;
  readonly process: EngineProcess;
  readonly directory: string;
  readonly opened: EngineOpenResult;
  readonly built: BuildResult;
  curve: readonly TunedEf[];
  /** Lowest ef that reaches the first target recall; null if it is not reached or not needed. */
  baseline: TunedEf | null;
  modes: readonly Mode[];
  /** Reason why a peer failed during the measurement; null if it did not. */
  failure: string | null;
}

/**
 * Builds every engine over the same vectors, each in its own process, and measures them in interleaved
 * rounds. An interruption ends the measurement early; the result then has the measurements of the engines
 * that were built. Errors: rejects if the run is interrupted before the first engine is built.
 */
export async function measureEngines(context: BenchContext): Promise<EngineMeasurement> {
  const { options, signal } = context;
  const allOfFile = options.vectorsFile !== null && !options.isVectorsFlagSet;
  const set = await prepareVectorDataset({ ...options, rows: allOfFile ? null : options.vectors }, context);
  const root = await mkdtemp(join(tmpdir(), 'quarry-bench-engines-'));
  const state: EngineState = { running: [], missing: [], rounds: new Map(), finished: new Map() };
  const chosen = chosenKinds(options.engines);
  const leftOut = engineKinds.filter((kind) => !chosen.includes(kind)).map(({ name }) => name);
  let complete = true;
  try {
    await measureAll(chosen, state, { set, root }, context);
  } catch (error) {
    if (!(await isInterrupted(signal)) || state.running.length === 0) throw error;
    complete = false;
  } finally {
    await Promise.all(state.running.map(({ process }) => process.terminate()));
    await rm(root, { recursive: true, force: true });
  }
  return { set, engines: measuredEngines(state), missing: state.missing, leftOut, complete };
}

/** Measurements so far. */
interface EngineState {
  readonly running: RunningEngine[];
  readonly missing: UnavailableEngine[];
  readonly rounds: Map<RunningEngine, Map<Mode, ModeFigures[]>>;
  readonly finished: Map<RunningEngine, FinalFigures>;
}

/** Results of the measurements that run once, after the rounds; null for those that did not run. */
type FinalFigures = Pick<MeasuredEngine, 'churned' | 'saved' | 'loaded'>;

async function measureAll(
  kinds: readonly EngineKind[],
  state: EngineState,
  { set, root }: { readonly set: VectorDataset; readonly root: string },
  context: BenchContext,
): Promise<void> {
  const { running, missing } = state;
  for (const kind of kinds) {
    context.signal.throwIfAborted();
    const directory = join(root, kind.name.replaceAll(/\W/g, '-'));
    const reason = await startOrExplain(kind, { set, directory, running }, context);
    if (reason !== null) missing.push({ name: kind.name, reason });
  }
  await measureRounds(state, context);
  for (const engine of running) {
    const finished = await runUnlessFailed(engine, context, () => finishEngine(engine, set, context));
    if (finished === null) missing.push({ name: engine.kind.name, reason: engine.failure ?? '' });
    else state.finished.set(engine, finished);
  }
}

function measuredEngines({ running, rounds, finished }: EngineState): MeasuredEngine[] {
  return running
    .filter(({ failure }) => failure === null)
    .map((engine) => {
      const { kind, opened, built, curve } = engine;
      const modes = [...(rounds.get(engine) ?? [])].map(([mode, figures]) => ({ ...mode, rounds: figures }));
      return {
        name: kind.name,
        version: opened.version,
        synchronous: kind.synchronous,
        built,
        curve,
        modes: modes.filter((mode) => mode.rounds.length > 0),
        ...(finished.get(engine) ?? { churned: null, saved: null, loaded: null }),
      };
    });
}

function chosenKinds(names: readonly string[] | null): readonly EngineKind[] {
  if (names === null) return engineKinds;
  return names.map((wanted) => {
    const kind = engineKinds.find(({ name }) => name === wanted);
    if (kind !== undefined) return kind;
    const known = engineKinds.map(({ name }) => name).join(', ');
    throw new BenchUsageError(`Unknown engine "${wanted}". Engines: ${known}.`);
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

interface EngineStart {
  readonly set: VectorDataset;
  readonly directory: string;
  /** Gets the engine as soon as it is built. */
  readonly running: RunningEngine[];
}

/** Builds and tunes an engine. Returns the reason if it is unavailable, else null. */
async function startOrExplain(
  kind: EngineKind,
  { set, directory, running }: EngineStart,
  context: BenchContext,
): Promise<string | null> {
  let engine: RunningEngine | null = null;
  try {
    kind.version();
    engine = await start(kind, set, directory, context);
    running.push(engine);
    Object.assign(engine, await tuneEngine(engine, context));
    return null;
  } catch (error) {
    const reason = reasonOf(kind, error as Error, context);
    if (engine !== null) running.splice(running.indexOf(engine), 1);
    await engine?.process.terminate();
    return reason;
  }
}

async function start(
  kind: EngineKind,
  set: VectorDataset,
  directory: string,
  { options, progress, signal }: BenchContext,
): Promise<RunningEngine> {
  await mkdir(directory);
  const process = new EngineProcess(signal, ({ method, done, total }) =>
    progress.update(method === 'build' ? 'building' : 'replacing', done, total, `vectors of ${kind.name}`),
  );
  const task = { engine: kind.name, set, directory, url: options.pgvectorUrl, seed: options.seed };
  try {
    const opened = await process.call('open', { ...task, load: false });
    progress.note(`${kind.name}: building over ${set.rows} vectors (${opened.version})`);
    const built = await process.call('build');
    return { kind, process, directory, opened, built, curve: [], baseline: null, modes: [], failure: null };
  } catch (error) {
    await process.terminate();
    throw error;
  }
}

async function measureRounds({ running, rounds }: EngineState, context: BenchContext): Promise<void> {
  const { options, progress, signal } = context;
  for (const engine of running) rounds.set(engine, new Map(engine.modes.map((mode) => [mode, []])));
  const configurations = running.flatMap((engine) => engine.modes.map((mode) => ({ engine, mode })));
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
    const { ef, filter, inFlight, isReplacing, count } = mode;
    const measured = await runUnlessFailed(engine, context, () =>
      engine.process.call('measure', {
        ef,
        filter,
        inFlight,
        isReplacing,
        searchesMin,
        count,
        ms: options.seconds * 1_000,
      }),
    );
    if (measured !== null) rounds.get(engine)?.get(mode)?.push(figuresOf(measured));
  }
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
): Promise<FinalFigures> {
  const { kind, process, opened, directory } = engine;
  const { phases } = options;
  signal.throwIfAborted();
  progress.note(`${kind.name}: saving, loading, replacing`);
  // Saved before the replacements, because replaced rows may still occupy space.
  const saves = opened.capabilities.save && phases.includes('build');
  const saved = saves ? await process.call('save') : null;
  const churned =
    opened.capabilities.replace && phases.includes('replace')
      ? await churn(engine, options.size === 'full' ? 10 : 3, options.results)
      : null;
  await process.call('close');
  await process.terminate();
  let loaded: EngineOpenResult | null = null;
  if (saved !== null) {
    const fresh = new EngineProcess(signal);
    try {
      const task = { engine: kind.name, set, directory, url: null, seed: options.seed, load: true };
      loaded = await fresh.call('open', task);
      await fresh.call('close');
    } finally {
      await fresh.terminate();
    }
  }
  return { churned, saved, loaded };
}

async function churn(
  { kind, process, curve, baseline }: RunningEngine,
  roundsMax: number,
  count: number,
): Promise<ChurnResult> {
  const { ef, recall } = baseline ?? bestPoint(curve);
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
