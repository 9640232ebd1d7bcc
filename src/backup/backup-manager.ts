import { AppError } from '../core/app-error.ts';
import type { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import type { BackupSchedule } from './backup-schedule.ts';
import { type BackupProgress, type BackupSource, createBackup } from './create-backup.ts';
import {
  listSegments,
  type RecoverableWindow,
  recoverableWindows,
  type SegmentInfo,
} from './journal-segments.ts';
import { type Manifest, readManifests } from './manifest.ts';
import type { ObjectCipher, ObjectStore } from './object-store.ts';
import { type KeepRules, pruneBackups } from './prune-backups.ts';
import type { RehearsalFailure, RestoreRehearsal } from './rehearsal.ts';
import type { SharedTargetLock } from './shared-target-lock.ts';
import type { BackupTarget } from './target.ts';
import { readVerifiedRestore, type VerifiedRestore } from './verified-restore.ts';

/** Target opened for one operation. */
export interface ManagedTarget {
  readonly target: BackupTarget;
  readonly cipher: ObjectCipher | null;
  /** `signal` aborts throttled transfers. */
  readonly openObjects: (signal: AbortSignal) => ObjectStore;
  readonly lock: SharedTargetLock;
}

export interface BackupManagerOptions {
  readonly source: BackupSource;
  /** The configured target; null without one. */
  readonly target: ManagedTarget | null;
  /** Opens another target. Errors: `bad_request`. */
  readonly openTarget: (location: string) => ManagedTarget;
  readonly schedule: BackupSchedule | null;
  /** Backups to keep after a scheduled one; null keeps all. */
  readonly keep: KeepRules | null;
  /** Null: no rehearsals of restores. */
  readonly rehearsal: RestoreRehearsal | null;
  readonly includeSecrets: boolean;
  /** Whether a journal is written: a gap in it makes the next backup due immediately. */
  readonly hasJournal: boolean;
  readonly clock: Clock;
  readonly backgroundScheduler: BackgroundScheduler;
  readonly logger: Logger;
}

export interface RunningBackup {
  readonly target: string;
  readonly startedAt: number;
  readonly progress: BackupProgress | null;
}

export interface BackupStatus {
  /** Location of the configured target. */
  readonly target: string | null;
  readonly running: RunningBackup | null;
  /** Last backup of this data directory: in the configured target, or created since the start. */
  readonly last: Manifest | null;
  readonly lastError: { readonly at: number; readonly message: string } | null;
  readonly nextAt: number | null;
  /** Times to which the configured target can restore this data directory, oldest first. */
  readonly recoverable: readonly RecoverableWindow[];
  readonly verifiedRestore: VerifiedRestore | null;
  /** Failure of the last rehearsal of a restore. */
  readonly rehearsalError: RehearsalFailure | null;
}

/** Milliseconds between checks of the schedule, and after a failed scheduled backup. */
const checkMs = 5_000;
const retryMs = 300_000;

/** Creates backups in a running server, on request and on schedule, one at a time. */
export class BackupManager {
  readonly #options: BackupManagerOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #state: RunningBackup | null = null;
  #last: Manifest | null = null;
  #lastError: BackupStatus['lastError'] = null;
  #verifiedRestore: VerifiedRestore | null = null;
  #recoverable: readonly RecoverableWindow[] = [];
  /** Whether commits are missing between the last backup and the journal. */
  #hasGap = false;
  #failures = 0;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> = Promise.resolve();

  constructor(options: BackupManagerOptions) {
    this.#options = options;
  }

  /** Starts the schedule. */
  start(): void {
    if (this.#options.target === null || this.#stop.signal.aborted) return;
    this.#checking = this.#readTarget().then(() => this.#check());
    this.#timer = setInterval(() => {
      this.#checking = this.#checking.then(() => this.#check());
    }, checkMs);
    this.#timer.unref();
  }

  get failures(): number {
    return this.#failures;
  }

  get status(): BackupStatus {
    return {
      target: this.#options.target?.target.location ?? null,
      running: this.#state,
      last: this.#last,
      lastError: this.#lastError,
      nextAt: this.#nextAt(),
      verifiedRestore: this.#verifiedRestore,
      recoverable: this.#recoverable,
      rehearsalError: this.#options.rehearsal?.lastError ?? null,
    };
  }

  /** Extends the recoverable window by a segment that the target now has. */
  addSegment({ previous, last, to }: SegmentInfo): void {
    const open = this.#recoverable.at(-1);
    if (open === undefined) return;
    if (previous > open.toSequence) this.#hasGap = true;
    else
      this.#recoverable = [
        ...this.#recoverable.slice(0, -1),
        { ...open, toSequence: Math.max(open.toSequence, last), to: Math.max(open.to, to) },
      ];
  }

  /**
   * Starts a backup; `status` shows its progress and result. Null: to the configured target. Errors:
   * `conflict` while another backup runs, `bad_request` for an unusable target or without one.
   */
  begin(location: string | null): void {
    const { target: configured, openTarget } = this.#options;
    if (this.#state !== null)
      throw new AppError('conflict', 'A backup is already running. Try again when it has finished.');
    if (this.#stop.signal.aborted) throw shuttingDownError();
    const isConfigured = location === null || location === configured?.target.location;
    const target = isConfigured ? configured : openTarget(location);
    if (target === null)
      throw new AppError('bad_request', 'No backup target. Set QUARRY_BACKUP_TARGET or name a target.');
    this.#running = this.#run(target);
  }

  /** Aborts a running backup; the next one continues with its objects. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort(shuttingDownError());
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#checking;
    await this.#options.rehearsal?.close();
    await this.#running;
  }

  /** Never rejects. */
  async #run({ target, openObjects, lock }: ManagedTarget): Promise<void> {
    const { source, clock, backgroundScheduler, includeSecrets, logger } = this.#options;
    const startedAt = clock.now();
    const { location } = target;
    this.#state = { target: location, startedAt, progress: null };
    try {
      const manifest = await lock.share('backup', (held) =>
        createBackup({
          source,
          target,
          objects: openObjects(AbortSignal.any([this.#stop.signal, held.lost])),
          lock: held,
          clock,
          backgroundScheduler,
          includeSecrets,
          onProgress: (progress) => {
            this.#state = { target: location, startedAt, progress };
          },
        }),
      );
      this.#last = manifest;
      this.#lastError = null;
      if (target === this.#options.target?.target) await this.#readWindows();
      const { id, sequence, storeBytes, blobBytes, addedBytes } = manifest;
      const ms = manifest.finishedAt - startedAt;
      logger.info({ backup: id, sequence, bytes: storeBytes + blobBytes, addedBytes, ms }, 'backup created');
    } catch (error) {
      this.#recordFailure(error);
    } finally {
      this.#state = null;
    }
  }

  #recordFailure(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const message = error instanceof Error ? error.message : String(error);
    this.#failures += 1;
    this.#lastError = { at: this.#options.clock.now(), message };
    this.#options.logger.error({ error: message }, 'backup failed');
  }

  /** Finds the last backup of this data directory by an earlier process. */
  async #readTarget(): Promise<void> {
    const { target, source } = this.#options;
    if (target === null) return;
    try {
      const own = (await readManifests(target.target)).filter(({ lineage }) => lineage === source.lineage);
      this.#last ??= own.at(-1) ?? null;
      await this.#readWindows();
    } catch (error) {
      this.#recordFailure(error);
    }
  }

  async #readWindows(): Promise<void> {
    const { target, source } = this.#options;
    if (target === null) return;
    const own = (await readManifests(target.target)).filter(({ lineage }) => lineage === source.lineage);
    const segments = await listSegments(target.target, source.lineage);
    this.#recoverable = recoverableWindows(own, segments);
    const reached = this.#recoverable.at(-1)?.toSequence ?? 0;
    this.#hasGap = own.length > 0 && segments.some(({ last }) => last > reached);
  }

  /** Null without a schedule. */
  #nextAt(): number | null {
    const { schedule, target, clock } = this.#options;
    if (schedule === null || target === null) return null;
    const isOverdue = this.#options.hasJournal && this.#hasGap;
    const next = isOverdue ? clock.now() : schedule(this.#last?.takenAt ?? null, clock.now());
    return this.#lastError === null ? next : Math.max(next, this.#lastError.at + retryMs);
  }

  /** Starts a scheduled backup if it is due. Never rejects. */
  async #check(): Promise<void> {
    const { target, clock, rehearsal } = this.#options;
    if (target === null || this.#stop.signal.aborted) return;
    await this.#readVerifiedRestore(target.target);
    if (this.#last !== null) rehearsal?.check(this.#last, this.#verifiedRestore?.verifiedAt ?? null);
    const nextAt = this.#nextAt();
    if (nextAt === null || nextAt > clock.now() || this.#state !== null) return;
    this.#running = this.#run(target).then(() => this.#prune(target));
  }

  async #readVerifiedRestore(target: BackupTarget): Promise<void> {
    try {
      this.#verifiedRestore = await readVerifiedRestore(target);
    } catch (error) {
      this.#options.logger.warn(
        { error: String(error) },
        'the record of the last verified restore is unreadable',
      );
    }
  }

  /** Removes old backups after a successful scheduled one. Never rejects. */
  async #prune({ target, cipher, openObjects, lock }: ManagedTarget): Promise<void> {
    const { keep, logger } = this.#options;
    if (keep === null || this.#lastError !== null || this.#stop.signal.aborted) return;
    try {
      const objects = openObjects(this.#stop.signal);
      const pruned = await lock.runAlone('pruning', (held) =>
        pruneBackups({ target, objects, cipher, lock: held, rules: keep }),
      );
      await this.#readWindows();
      const { removed, removedBytes } = pruned;
      if (removed.length > 0) logger.info({ backups: removed.length, removedBytes }, 'backups pruned');
    } catch (error) {
      this.#recordFailure(error);
    }
  }
}
