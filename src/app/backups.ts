import { resolve } from 'node:path';
import { BackupManager, type ManagedTarget } from '../backup/backup-manager.ts';
import { parseSchedule } from '../backup/backup-schedule.ts';
import { parseKeepRules } from '../backup/prune-backups.ts';
import { SharedTargetLock } from '../backup/shared-target-lock.ts';
import type { Settings } from '../config/schema.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { BackupService } from '../services/backups.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { isOperatorProof } from '../storage/installation-secrets.ts';
import { lockTarget, openTarget } from './backup-target.ts';
import type { ResourceStack } from './resource-stack.ts';
import { backgroundScheduler, clock } from './runtime.ts';

/** Backups of a running server. */

interface BackupDependencies {
  readonly data: DataDirectory;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function openBackups(
  settings: Settings,
  resources: ResourceStack,
  { data, logger, metrics }: BackupDependencies,
): BackupManager {
  const { backupTarget, backupSchedule, backupKeep, backupSecrets } = settings;
  const openManaged = (location: string): ManagedTarget => {
    const { target } = openTarget(location, settings, new AbortController().signal);
    return {
      target,
      openObjects: (signal) => openTarget(location, settings, signal).objects,
      lock: new SharedTargetLock((operation) => lockTarget(target, operation)),
    };
  };
  const manager = new BackupManager({
    source: data,
    target: backupTarget === null ? null : openManaged(resolve(backupTarget)),
    openTarget: (location) => openManaged(location),
    schedule: parseSchedule(backupSchedule),
    keep: backupKeep === null ? null : parseKeepRules(backupKeep),
    includeSecrets: backupSecrets === 'always',
    clock,
    backgroundScheduler,
    logger,
  });
  resources.add(() => manager.close());
  registerMetrics(metrics, manager);
  return manager;
}

export function createBackupService(manager: BackupManager, { secrets }: DataDirectory): BackupService {
  return new BackupService({ manager, isOperatorProof: (proof) => isOperatorProof(proof, secrets) });
}

function registerMetrics(metrics: Metrics, manager: BackupManager): void {
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
    { name: 'quarry_backup_failures', help: 'Failed backups since the start.' },
    () => manager.failures,
  );
  metrics.gauge(
    {
      name: 'quarry_backup_verified_restore_timestamp_seconds',
      help: 'Time of the last verified restore in seconds since the epoch; 0 without one.',
    },
    () => (manager.status.verifiedRestore?.verifiedAt ?? 0) / 1_000,
  );
}

/** Content of `/readyz` about backups; null without a target. A failing backup leaves the server ready. */
export function describeBackups(manager: BackupManager): { ready: boolean; detail: string } | null {
  const { target, last, lastError, verifiedRestore } = manager.status;
  if (target === null) return null;
  const time = (at: number) => new Date(at).toISOString();
  const details = [
    last === null ? 'no backup yet' : `last backup ${time(last.takenAt)}`,
    verifiedRestore === null
      ? 'no verified restore yet'
      : `last verified restore ${time(verifiedRestore.verifiedAt)}`,
    ...(lastError === null ? [] : [`failed at ${time(lastError.at)}: ${lastError.message}`]),
  ];
  return { ready: lastError === null, detail: details.join('; ') };
}
