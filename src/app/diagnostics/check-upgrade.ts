import { readdir, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readManifests } from '../../backup/manifest.ts';
import type { Settings } from '../../config/schema.ts';
import { AppError } from '../../core/app-error.ts';
import { toOptionalTimestamp } from '../../core/timestamps.ts';
import { version } from '../../core/version.ts';
import { readFormatFile } from '../../storage/data-directory.ts';
import { currentFormat, type Migration, migrations } from '../../storage/migrations.ts';
import { openTarget } from '../backup-target.ts';
import { clock } from '../runtime.ts';

/** Effect of opening a data directory with this version. */
export interface UpgradeReport {
  readonly version: string;
  readonly data: string;
  /**
   * `new`: the directory would be created. `current`: it is opened as it is. `migration`: it is migrated first.
   * `newer`, `unsupported`: this version cannot open it.
   */
  readonly state: 'new' | 'current' | 'migration' | 'newer' | 'unsupported';
  /** Format of the directory; null for a new one. */
  readonly format: number | null;
  readonly formatOfThisVersion: number;
  /** Version that wrote the format; null if it did not record it. */
  readonly writtenBy: string | null;
  readonly migrations: readonly {
    readonly from: number;
    readonly to: number;
    readonly description: string;
  }[];
  readonly bytesNeeded: number;
  readonly bytesFree: number;
  /** Time of the last backup; null if there is none, or no target. */
  readonly lastBackupAt: string | null;
  readonly lastBackupHours: number | null;
}

/** Reads the directory without opening its store, so that a server may run meanwhile. Changes nothing. */
export async function checkUpgrade(settings: Settings, signal: AbortSignal): Promise<UpgradeReport> {
  const { data } = settings;
  const found = await readFormatFile(data);
  const format = found?.format ?? null;
  const steps = format === null ? [] : migrationsFrom(format);
  const storeBytes = await measureFolder(join(data, 'store'));
  const lastBackup = await findLastBackup(settings, signal);
  return {
    version,
    data,
    state: stateOf(format, steps),
    format,
    formatOfThisVersion: currentFormat,
    writtenBy: found?.version ?? null,
    migrations: steps.map(({ from, description }) => ({ from, to: from + 1, description })),
    bytesNeeded: Math.ceil(storeBytes * Math.max(0, ...steps.map(({ freeShare }) => freeShare))),
    bytesFree: await measureFree(data),
    lastBackupAt: toOptionalTimestamp(lastBackup),
    lastBackupHours: lastBackup === null ? null : Math.floor((clock.now() - lastBackup) / 3_600_000),
  };
}

function migrationsFrom(format: number): readonly Migration[] {
  return migrations.filter(({ from }) => from >= format && from < currentFormat);
}

function stateOf(format: number | null, steps: readonly Migration[]): UpgradeReport['state'] {
  if (format === null) return 'new';
  if (format === currentFormat) return 'current';
  if (format > currentFormat) return 'newer';
  return steps.length === currentFormat - format ? 'migration' : 'unsupported';
}

/** Null without a target or a backup. Errors: those of an unreadable target. */
async function findLastBackup(settings: Settings, signal: AbortSignal): Promise<number | null> {
  const { backupTarget } = settings;
  if (backupTarget === null) return null;
  const { target } = openTarget(backupTarget, settings, signal);
  const manifests = await readManifests(target).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return [];
    throw error;
  });
  const newest = Math.max(0, ...manifests.map(({ takenAt }) => takenAt));
  return newest === 0 ? null : newest;
}

/** Bytes of the files in a folder; 0 if it does not exist. */
async function measureFolder(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Free bytes of the disk of a folder, or of its nearest existing parent. */
async function measureFree(path: string): Promise<number> {
  const found = await statfs(path).catch(() => null);
  if (found !== null) return found.bavail * found.bsize;
  const parent = dirname(path);
  return parent === path ? 0 : measureFree(parent);
}
