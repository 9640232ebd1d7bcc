import { resolve } from 'node:path';
import type { UpgradeReport } from '../app/diagnostics/check-upgrade.ts';
import { AppError } from '../core/app-error.ts';
import { type CommandContext, type CommandOptions, type CommandSpec, jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { formatBytes } from './text-layout.ts';

export const upgradeCommand: CommandSpec = {
  usage: 'upgrade',
  settings: 'client',
  summary:
    'with --check, show what this version would do to a data directory: exit code 0 if it can open it, 4 if a migration has no recent backup, 1 if it cannot',
  options: [
    { flags: '--check', meaning: 'report only; nothing is changed' },
    { flags: '--data <folder>', meaning: 'data directory of the server (QUARRY_DATA)' },
    jsonOption,
  ],
  examples: ['quarry upgrade --check', 'quarry upgrade --check --data /var/lib/quarry --json'],
  run: check,
};

/** Age of a backup from which a migration is preceded by a warning. */
const backupHoursMax = 24;

async function check(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  if (options.check !== true)
    throw new AppError(
      'bad_request',
      'A data directory is upgraded when the new version starts on it. `quarry upgrade --check` shows what would happen.',
    );
  const { loaded, terminal, signal } = context;
  const { checkUpgrade } = await import('../app/diagnostics/check-upgrade.ts');
  const data = typeof options.data === 'string' ? resolve(options.data) : loaded.settings.data;
  const report = await checkUpgrade({ ...loaded.settings, data }, signal);
  if (options.json === true) terminal.out(JSON.stringify(report));
  else formatReport(report).forEach(terminal.out);
  return exitCodeOf(report);
}

function exitCodeOf({ state, bytesNeeded, bytesFree, lastBackupHours }: UpgradeReport): number {
  if (state === 'newer' || state === 'unsupported' || bytesNeeded > bytesFree) return exitCodes.failed;
  const hasBackup = lastBackupHours !== null && lastBackupHours <= backupHoursMax;
  return state === 'migration' && !hasBackup ? exitCodes.warnings : exitCodes.done;
}

function formatReport(report: UpgradeReport): string[] {
  const { migrations, bytesNeeded, bytesFree, lastBackupAt, lastBackupHours } = report;
  const steps = migrations.map(({ from, to, description }) => `  format ${from} to ${to}: ${description}`);
  const backup =
    lastBackupAt === null
      ? 'none found (QUARRY_BACKUP_TARGET)'
      : `${lastBackupAt}, ${lastBackupHours} hours ago`;
  return [
    `Quarry ${report.version} and ${report.data}:`,
    describeState(report),
    ...steps,
    `Free space: ${formatBytes(bytesFree)}; needed: ${formatBytes(bytesNeeded)}.`,
    ...(bytesNeeded > bytesFree ? ['Free some space first: the migration would fail.'] : []),
    `Last backup: ${backup}.`,
    ...(exitCodeOf(report) === exitCodes.warnings
      ? ['Run `quarry backup create` first: an older version cannot open the migrated directory.']
      : []),
  ];
}

function describeState({ state, format, formatOfThisVersion: own, writtenBy }: UpgradeReport): string {
  const writer = writtenBy === null ? 'a newer version' : `Quarry ${writtenBy}`;
  switch (state) {
    case 'new':
      return `A new directory with format ${own} would be created.`;
    case 'current':
      return `It has format ${format}, the format of this version. It would be opened without a migration.`;
    case 'migration':
      return `It has format ${format} and would be migrated to format ${own} at startup:`;
    case 'newer':
      return `It has format ${format}, written by ${writer}. This version supports format ${own}: run ${writer}.`;
    case 'unsupported':
      return `It has format ${format}, which this version (format ${own}) cannot migrate. Upgrade to an older version first.`;
  }
}
