import { setMaxListeners } from 'node:events';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { describedError } from '../core/described-error.ts';
import type { Logger } from '../core/logger.ts';
import { sourceLimits } from '../core/source-limits.ts';
import {
  type SourceCounts,
  type SourceOutcome,
  type SourceRecord,
  type SourceRun,
  type SourceState,
  type Sources,
  timeZoneDefault,
} from '../storage/sources.ts';
import type { Store } from '../storage/store.ts';
import type { Source, SourceWatcher } from './source.ts';
import type { SourceKinds } from './source-kinds.ts';
import { parseSourceSchedule, type SourceSchedule } from './source-schedule.ts';
import { createCounts, type MutableCounts, type PlannedChange, type Synchronizer } from './synchronizer.ts';

export interface SourceSchedulerOptions {
  readonly store: Pick<Store, 'write'>;
  readonly sources: Sources;
  readonly kinds: Pick<SourceKinds, 'open' | 'forget'>;
  readonly synchronizer: Pick<Synchronizer, 'run' | 'removeDocuments'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly mayLogContent: () => boolean;
  /** Called after each run, except for one that the stop of the server interrupts. */
  readonly onRunEnd: (record: SourceRecord, run: Pick<SourceRun, 'outcome' | 'counts'>) => void;
}

interface ActiveRun {
  readonly startedAt: number;
  readonly counts: MutableCounts;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

interface Entry {
  record: SourceRecord;
  schedule: SourceSchedule;
  run: ActiveRun | null;
  /** Set while a run is requested, by a caller or by a change in a watched folder. */
  request: { readonly allowEmpty: boolean } | null;
  /** Earliest time of the next attempt after a failure of this server. */
  retryAt: number;
  watcher: SourceWatcher | null;
  watchError: string | null;
}

export interface SourceActivity {
  readonly isQueued: boolean;
  readonly run: { readonly startedAt: number; readonly counts: SourceCounts } | null;
  readonly nextAt: number | null;
  readonly watchError: string | null;
}

export interface SourceStatistics {
  /** Number of sources by state. */
  readonly states: Readonly<Record<'idle' | 'queued' | 'running' | 'paused', number>>;
  /** Sources whose last run failed. */
  readonly failing: number;
  /** Longest time that a due source has been waiting for its run, in milliseconds. */
  readonly lagMs: number;
}

const tooManyPreviews = `Your organization already has ${sourceLimits.runsPerOrganizationMax} dry runs in progress. Try again when one has ended.`;

/** Milliseconds before a retry when this server failed, and not the origin. */
const retryMs = 30_000;

/**
 * Runs sources when they are due, on request, and after changes in watched folders. An organization has a bounded share
 * of the concurrent runs, and the one with the fewest of them is next.
 */
export class SourceScheduler {
  readonly #options: SourceSchedulerOptions;
  readonly #entries = new Map<string, Entry>();
  /** Dry runs by organization. */
  readonly #previews = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: SourceSchedulerOptions) {
    this.#options = options;
  }

  /** Restarts the runs that were interrupted when the server stopped. */
  async start(): Promise<void> {
    for (const record of await this.#options.sources.listAll()) {
      const isInterrupted = this.#options.sources.state(record).runningSince !== null;
      this.#add(record, isInterrupted || record.isWatched);
    }
    if (this.#isClosed) return;
    this.#timer = setInterval(() => this.#startRuns(), sourceLimits.tickMs);
    this.#timer.unref();
    this.#startRuns();
  }

  /** Adds a new source and runs it when it is due. */
  add(record: SourceRecord): void {
    this.#add(record, record.isWatched);
    this.#startRuns();
  }

  /** Applies new settings; a run in progress restarts with them. */
  async replace(record: SourceRecord): Promise<void> {
    const entry = this.#entries.get(record.sourceId);
    if (entry === undefined) return;
    entry.record = record;
    entry.schedule = scheduleOf(record);
    const wasRunning = entry.run !== null;
    await this.#interrupt(entry);
    if (wasRunning && !record.isPaused) entry.request ??= { allowEmpty: false };
    if (record.isPaused) entry.request = null;
    this.#updateWatcher(entry);
    this.#startRuns();
  }

  request({ sourceId }: SourceRecord, allowEmpty: boolean): void {
    const entry = this.#entries.get(sourceId);
    if (entry === undefined) return;
    entry.request = { allowEmpty };
    this.#startRuns();
  }

  activityOf(record: SourceRecord): SourceActivity {
    const entry = this.#entries.get(record.sourceId);
    return {
      isQueued: entry !== undefined && entry.request !== null && entry.run === null,
      run: entry?.run ?? null,
      nextAt: entry === undefined || record.isPaused ? null : this.#nextAt(entry),
      watchError: entry?.watchError ?? null,
    };
  }

  /** Returns the state of all sources; those that are being deleted count as running. */
  statistics(): SourceStatistics {
    const states = { idle: 0, queued: 0, running: 0, paused: 0 };
    let failing = 0;
    let lagMs = 0;
    const now = this.#options.clock.now();
    for (const entry of this.#entries.values()) {
      const { record, run, request } = entry;
      const { lastRun } = this.#options.sources.state(record);
      const { isPaused, removal } = record;
      if (lastRun?.outcome === 'failed') failing += 1;
      const nextAt = isPaused ? null : this.#nextAt(entry);
      const isDue = request !== null || (nextAt !== null && nextAt <= now);
      if (run !== null || removal !== undefined) states.running += 1;
      else if (isPaused) states.paused += 1;
      else if (isDue) states.queued += 1;
      else states.idle += 1;
      if (run !== null || removal !== undefined || nextAt === null || nextAt > now) continue;
      lagMs = Math.max(lagMs, now - (lastRun === null ? record.createdAt : nextAt));
    }
    return { states, failing, lagMs };
  }

  /** Returns what a run would change. Errors: those of a run; `queue_full` for too many dry runs. */
  async preview(
    record: SourceRecord,
    signal: AbortSignal,
    onChange: (change: PlannedChange) => void,
  ): Promise<SourceCounts> {
    const { organizationId } = record;
    const running = this.#previews.get(organizationId) ?? 0;
    if (running >= sourceLimits.runsPerOrganizationMax)
      throw new AppError('queue_full', tooManyPreviews, {
        retryAfterMs: 2_000,
      });
    this.#previews.set(organizationId, running + 1);
    const counts = createCounts();
    let source: Source | null = null;
    try {
      source = await this.#options.kinds.open(record);
      const input = { record, source, cursor: null, allowEmpty: true, signal, plan: onChange };
      await this.#options.synchronizer.run(input, counts);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await source?.close();
      this.#previews.set(organizationId, this.#previews.get(organizationId)! - 1);
      if (this.#previews.get(organizationId) === 0) this.#previews.delete(organizationId);
    }
    return counts;
  }

  /** Stops all runs of an organization that is being deleted, and removes its sources. */
  async removeAll(organizationId: string): Promise<void> {
    const entries = [...this.#entries.values()].filter(
      ({ record }) => record.organizationId === organizationId,
    );
    for (const { record } of entries) this.#entries.delete(record.sourceId);
    await Promise.all(entries.map((entry) => this.#discard(entry)));
    for (const { record } of entries) await this.#options.kinds.forget(record);
  }

  /** Interrupts all runs; the next start continues them. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all([...this.#entries.values()].map((entry) => this.#discard(entry)));
  }

  #add(record: SourceRecord, isRequested: boolean): void {
    const request = isRequested && !record.isPaused ? { allowEmpty: false } : null;
    const schedule = scheduleOf(record);
    const entry: Entry = {
      record,
      schedule,
      run: null,
      request,
      retryAt: 0,
      watcher: null,
      watchError: null,
    };
    this.#entries.set(record.sourceId, entry);
    this.#updateWatcher(entry);
  }

  async #discard(entry: Entry): Promise<void> {
    entry.request = null;
    entry.watcher?.close();
    entry.watcher = null;
    await this.#interrupt(entry);
  }

  async #interrupt({ run }: Entry): Promise<void> {
    run?.controller.abort();
    await run?.ended;
  }

  #updateWatcher(entry: Entry): void {
    entry.watcher?.close();
    entry.watcher = null;
    entry.watchError = null;
    const { record } = entry;
    if (record.isWatched && !record.isPaused && record.removal === undefined) void this.#watch(entry, record);
  }

  /** Never rejects. */
  async #watch(entry: Entry, record: SourceRecord): Promise<void> {
    let source: Source | null = null;
    try {
      source = await this.#options.kinds.open(record);
      const watcher = await source.watch?.(() => {
        entry.request ??= { allowEmpty: false };
        this.#startRuns();
      });
      const isCurrent = entry.record === record && this.#entries.get(record.sourceId) === entry;
      if (!isCurrent || this.#isClosed || entry.watcher !== null) watcher?.close();
      else entry.watcher = watcher ?? null;
    } catch (error) {
      entry.watchError = describe(error);
      this.#options.logger.warn(this.#failureFields(record, error), 'watching a source failed');
    } finally {
      await source?.close();
    }
  }

  #nextAt({ record, schedule }: Entry): number | null {
    const { clock, sources } = this.#options;
    const lastAt = sources.state(record).lastRun?.startedAt ?? null;
    return schedule(lastAt, clock.now());
  }

  #isDue(entry: Entry): boolean {
    const { record, request, retryAt } = entry;
    const now = this.#options.clock.now();
    if (retryAt > now) return false;
    if (record.removal !== undefined) return true;
    if (record.isPaused) return false;
    if (request !== null) return true;
    const nextAt = this.#nextAt(entry);
    return nextAt !== null && nextAt <= now;
  }

  #startRuns(): void {
    if (this.#isClosed || this.#timer === null) return;
    const running = new Map<string, number>();
    let free = sourceLimits.runsMax;
    const waiting: Entry[] = [];
    for (const entry of this.#entries.values()) {
      const { organizationId } = entry.record;
      if (entry.run !== null) {
        running.set(organizationId, (running.get(organizationId) ?? 0) + 1);
        free -= 1;
      } else if (this.#isDue(entry)) waiting.push(entry);
    }
    const runsOf = ({ record }: Entry) => running.get(record.organizationId) ?? 0;
    for (; free > 0; free -= 1) {
      const [next] = waiting.sort((a, b) => runsOf(a) - runsOf(b));
      if (next === undefined || runsOf(next) >= sourceLimits.runsPerOrganizationMax) return;
      waiting.shift();
      running.set(next.record.organizationId, runsOf(next) + 1);
      this.#startRun(next);
    }
  }

  #startRun(entry: Entry): void {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const counts = createCounts();
    const allowEmpty = entry.request?.allowEmpty ?? false;
    entry.request = null;
    const startedAt = this.#options.clock.now();
    const run = { startedAt, counts, controller };
    const work = async () => {
      try {
        if (entry.record.removal === undefined) await this.#run(entry.record, run, allowEmpty);
        else await this.#removeSource(entry, controller.signal);
      } catch (error) {
        // The store is closed or full.
        entry.retryAt = this.#options.clock.now() + retryMs;
        if (!controller.signal.aborted)
          this.#options.logger.error(this.#failureFields(entry.record, error), 'source run failed');
      } finally {
        entry.run = null;
      }
    };
    // `work` starts in a later turn, so that it does not clear `entry.run` before it is set.
    entry.run = { ...run, ended: Promise.resolve().then(work) };
    void entry.run.ended.then(() => this.#startRuns());
  }

  async #run(record: SourceRecord, run: Omit<ActiveRun, 'ended'>, allowEmpty: boolean): Promise<void> {
    const { store, sources, clock, logger } = this.#options;
    const { startedAt, counts, controller } = run;
    const state = sources.state(record);
    await store.write([sources.putState(record, { ...state, runningSince: startedAt })]);
    const result = await this.#synchronize(record, state, { run, allowEmpty });
    if (this.#isClosed && controller.signal.aborted) return;
    const { outcome, error, cursor } = result;
    const lastRun = { startedAt, endedAt: clock.now(), outcome, error, counts: { ...counts } };
    const lastSuccessAt = outcome === 'succeeded' ? startedAt : state.lastSuccessAt;
    await store.write([sources.putState(record, { cursor, runningSince: null, lastRun, lastSuccessAt })], {
      mayUseReserve: true,
    });
    this.#options.onRunEnd(record, lastRun);
    const level = outcome === 'succeeded' ? 'info' : 'warn';
    logger[level]({ sourceId: record.sourceId, outcome, error, ...counts }, 'source synchronized');
  }

  #failureFields({ sourceId }: SourceRecord, error: unknown): Readonly<Record<string, unknown>> {
    return { sourceId, error: describedError(error, this.#options.mayLogContent()) };
  }

  async #synchronize(
    record: SourceRecord,
    state: SourceState,
    { run, allowEmpty }: { readonly run: Omit<ActiveRun, 'ended'>; readonly allowEmpty: boolean },
  ): Promise<{ outcome: SourceOutcome; error: string | null; cursor: string | null }> {
    const { counts, controller } = run;
    const { signal } = controller;
    // A cursor is valid only for the settings with which it was created.
    const start = `${record.revision} `;
    const cursor = state.cursor?.startsWith(start) === true ? state.cursor.slice(start.length) : null;
    let source: Source | null = null;
    try {
      source = await this.#options.kinds.open(record);
      const input = { record, source, cursor, allowEmpty, signal };
      const next = await this.#options.synchronizer.run(input, counts);
      const outcome = counts.failed === 0 ? 'succeeded' : 'partial';
      return { outcome, error: null, cursor: next === null ? null : `${start}${next}` };
    } catch (error) {
      if (signal.aborted) return { outcome: 'interrupted', error: null, cursor: null };
      if (!(error instanceof AppError))
        this.#options.logger.error(this.#failureFields(record, error), 'source run failed');
      return { outcome: 'failed', error: describe(error), cursor: null };
    } finally {
      await source?.close();
    }
  }

  async #removeSource(entry: Entry, signal: AbortSignal): Promise<void> {
    const { store, sources, synchronizer } = this.#options;
    const { record } = entry;
    if (record.removal?.deleteDocuments === true) await synchronizer.removeDocuments(record, signal);
    signal.throwIfAborted();
    await this.#options.kinds.forget(record);
    await sources.deleteItems(record);
    await store.write(sources.delete(record), { mayUseReserve: true });
    this.#entries.delete(record.sourceId);
  }
}

function scheduleOf({ schedule, timeZone = timeZoneDefault }: SourceRecord): SourceSchedule {
  return parseSourceSchedule(schedule, timeZone);
}

function describe(error: unknown): string {
  if (error instanceof AppError) return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string'
    ? `The origin cannot be read (${code}).`
    : 'The run failed with an internal error. Ask the operator to read the log of the server.';
}
