import { BackupManager, type ManagedTarget } from '../backup/backup-manager.ts';
import { parseSchedule } from '../backup/backup-schedule.ts';
import { JournalShipper } from '../backup/journal-shipper.ts';
import { parseKeepRules } from '../backup/prune-backups.ts';
import { SharedTargetLock } from '../backup/shared-target-lock.ts';
import type { Settings } from '../config/schema.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { BackupService } from '../services/backups.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { isOperatorProof } from '../storage/installation-secrets.ts';
import { absoluteLocation, includesSecrets, lockTarget, openTarget } from './backup-target.ts';
import type { ResourceStack } from './resource-stack.ts';
import { openRehearsal } from './restore-rehearsal.ts';
import { backgroundScheduler, clock } from './runtime.ts';

/** Backups of a running server. */

interface BackupDependencies {
  readonly data: DataDirectory;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Backups {
  readonly manager: BackupManager;
  /** Null without a journal. */
  readonly shipper: JournalShipper | null;
}

export function openBackups(
  settings: Settings,
  resources: ResourceStack,
  { data, logger, metrics }: BackupDependencies,
): Backups {
  const { backupTarget, backupSchedule, backupKeep } = settings;
  const openManaged = (location: string): ManagedTarget => {
    const { target, cipher } = openTarget(location, settings, new AbortController().signal);
    return {
      target,
      cipher,
      openObjects: (signal) => openTarget(location, settings, signal).objects,
      lock: new SharedTargetLock((operation) => lockTarget(target, operation)),
    };
  };
  const configured = backupTarget === null ? null : openManaged(absoluteLocation(backupTarget));
  const manager = new BackupManager({
    source: data,
    target: configured,
    openTarget: (location) => openManaged(location),
    schedule: parseSchedule(backupSchedule),
    rehearsal: openRehearsal(settings, { data, logger }),
    keep: backupKeep === null ? null : parseKeepRules(backupKeep),
    includeSecrets: includesSecrets(settings),
    hasJournal: data.journal !== null,
    clock,
    backgroundScheduler,
    logger,
  });
  const shipper = openShipper(settings, { data, logger, manager, target: configured });
  // Copies the commits of all components that are closed before.
  if (shipper !== null) resources.add(() => shipper.close());
  resources.add(() => manager.close());
  registerMetrics(metrics, manager, shipper);
  return { manager, shipper };
}

interface ShipperDependencies extends Pick<BackupDependencies, 'data' | 'logger'> {
  readonly manager: BackupManager;
  readonly target: ManagedTarget | null;
}

/** Null without a journal. */
function openShipper(
  { backupJournalSeconds, backupJournalBytesMax }: Settings,
  { data, logger, manager, target }: ShipperDependencies,
): JournalShipper | null {
  const { journal, blobs, lineage } = data;
  if (journal === null || target === null) return null;
  return new JournalShipper({
    journal,
    target,
    blobs,
    lineage,
    intervalMs: backupJournalSeconds * 1_000,
    bytesMax: backupJournalBytesMax,
    logger,
    onSegment: (segment) => manager.addSegment(segment),
  });
}

export function createBackupService({ manager }: Backups, { secrets }: DataDirectory): BackupService {
  return new BackupService({ manager, isOperatorProof: (proof) => isOperatorProof(proof, secrets) });
}

function registerMetrics(metrics: Metrics, manager: BackupManager, shipper: JournalShipper | null): void {
  metrics.gauge(
    {
      name: 'quarry_backup_last_timestamp_seconds',
      help: 'Time of the contents of the last backup in seconds since the epoch; 0 without a backup.',
    },
    () => (manager.status.last?.takenAt ?? 0) / 1_000,
  );
  metrics.gauge(
    { name: 'quarry_backup_last_bytes', help: 'Bytes of the store and the files in the last backup.' },
    () => {
      const { last } = manager.status;
      return last === null ? 0 : last.storeBytes + last.blobBytes;
    },
  );
  metrics.gauge({ name: 'quarry_backup_running', help: '1 while a backup runs.' }, () =>
    manager.status.running === null ? 0 : 1,
  );
  metrics.gauge(
    { name: 'quarry_backup_failures', help: 'Failed backups since startup.' },
    () => manager.failures,
  );
  metrics.gauge(
    {
      name: 'quarry_backup_verified_restore_timestamp_seconds',
      help: 'Time of the last verified restore in seconds since the epoch; 0 without one.',
    },
    () => (manager.status.verifiedRestore?.verifiedAt ?? 0) / 1_000,
  );
  if (shipper !== null) registerJournalMetrics(metrics, manager, shipper);
}

function registerJournalMetrics(metrics: Metrics, manager: BackupManager, shipper: JournalShipper): void {
  metrics.gauge(
    {
      name: 'quarry_backup_recoverable_timestamp_seconds',
      help: 'Time of the last commit that the backup target can restore, in seconds since the epoch; 0 without one.',
    },
    () => (manager.status.recoverable.at(-1)?.to ?? 0) / 1_000,
  );
  metrics.gauge(
    {
      name: 'quarry_backup_journal_waiting_bytes',
      help: 'Bytes of commits that the backup target does not have yet.',
    },
    () => shipper.waitingBytes,
  );
}

/** Content of `/readyz` about backups; null without a target. A failing backup leaves the server ready. */
export function describeBackups({ manager, shipper }: Backups): { ready: boolean; detail: string } | null {
  const { target, last, lastError, verifiedRestore, rehearsalError, recoverable } = manager.status;
  const window = recoverable.at(-1);
  if (target === null) return null;
  const details = [
    last === null ? 'no backup yet' : `last backup ${toTimestamp(last.takenAt)}`,
    ...(shipper === null || window === undefined
      ? []
      : [`recoverable from ${toTimestamp(window.from)} to ${toTimestamp(window.to)}`]),
    verifiedRestore === null
      ? 'no verified restore yet'
      : `last verified restore ${toTimestamp(verifiedRestore.verifiedAt)}`,
    ...(shipper?.lastError == null ? [] : [`new commits are not copied: ${shipper.lastError}`]),
    ...(rehearsalError === null
      ? []
      : [`restore failed at ${toTimestamp(rehearsalError.at)}: ${rehearsalError.message}`]),
    ...(lastError === null ? [] : [`failed at ${toTimestamp(lastError.at)}: ${lastError.message}`]),
  ];
  const isHealthy = lastError === null && rehearsalError === null && shipper?.lastError == null;
  return { ready: isHealthy, detail: details.join('; ') };
}
