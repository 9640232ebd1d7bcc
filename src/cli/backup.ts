import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackupCommand, RestorePoint } from '../app/backup-commands.ts';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { formatCount } from '../core/format.ts';
import type { BackupInfo, BackupStatusResponse } from '../schemas/backups.ts';
import { createOperatorProof, readInstallationSecrets } from '../storage/installation-secrets.ts';
import type { CommandContext, CommandOptions, CommandSpec, OptionSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { timeOption } from './option-values.ts';
import { ProgressBar } from './progress.ts';
import { printTable } from './terminal.ts';
import { formatBytes } from './text-layout.ts';

const targetOption: OptionSpec = {
  flags: '--target <target>',
  meaning: 'backup target, a folder or s3://bucket/folder (QUARRY_BACKUP_TARGET)',
};
const dataOption: OptionSpec = {
  flags: '--data <folder>',
  meaning: 'data directory of the server (QUARRY_DATA)',
};

export const backupCommands: readonly CommandSpec[] = [
  {
    usage: 'backup create',
    settings: 'client',
    summary:
      'create a backup: by the running server (needs the admin key), or of a data directory that no server uses',
    options: [targetOption, dataOption, jsonOption],
    examples: ['quarry backup create --target /backup/quarry'],
    interrupted:
      'a running server continues the backup; otherwise the next one continues with the stored objects',
    run: create,
  },
  {
    usage: 'backup list',
    settings: 'client',
    summary: 'list the backups of a target',
    options: [targetOption, jsonOption],
    examples: ['quarry backup list --target /backup/quarry'],
    run: list,
  },
  {
    usage: 'backup verify',
    settings: 'client',
    summary: 'read all objects of all backups and compare their SHA-256; exit code 1 if one is damaged',
    options: [targetOption, jsonOption],
    examples: ['quarry backup verify --target /backup/quarry'],
    run: verify,
  },
  {
    usage: 'backup restore',
    settings: 'client',
    summary: 'restore a backup into a new data directory and verify it',
    options: [
      targetOption,
      { flags: '--data <folder>', meaning: 'new data directory; must be empty or missing' },
      {
        flags: '--at <time>',
        meaning: 'restore the last commit up to this time (2026-11-01T08:00:00Z)',
        conflicts: ['sequence'],
      },
      { flags: '--sequence <number>', meaning: 'restore this commit; default: the newest one' },
      jsonOption,
    ],
    examples: [
      'quarry backup restore --target /backup/quarry --data /srv/quarry-restored',
      'quarry backup restore --data /srv/quarry-restored --at 2026-11-01T08:00:00Z',
    ],
    interrupted: 'the incomplete folder cannot be opened by a server; delete it',
    run: restore,
  },
  {
    usage: 'backup prune',
    settings: 'client',
    summary: 'delete old backups and the objects that only they use',
    options: [
      targetOption,
      {
        flags: '--keep <rules>',
        meaning: 'backups to keep, for example last:3,daily:7,weekly:4,monthly:12 (QUARRY_BACKUP_KEEP)',
      },
      jsonOption,
    ],
    examples: ['quarry backup prune --target /backup/quarry --keep last:3,daily:7'],
    run: prune,
  },
];

const loadBackupCommands = () => import('../app/backup-commands.ts');

function readCommand(context: CommandContext, options: CommandOptions): BackupCommand {
  const settings: Settings = {
    ...context.loaded.settings,
    ...(typeof options.data === 'string' ? { data: resolve(options.data) } : {}),
  };
  const target = typeof options.target === 'string' ? options.target : settings.backupTarget;
  if (target === null)
    throw new AppError('bad_request', 'No backup target. Set --target or QUARRY_BACKUP_TARGET.');
  return { settings, target, signal: context.signal };
}

async function create(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const command = readCommand(context, options);
  const { createOfflineBackup, toBackupInfo } = await loadBackupCommands();
  const bar = new ProgressBar('Backup', context.terminal, context.clock);
  const show = (progress: { bytes: number; totalBytes: number; storedBytes: number }) => {
    const label = `${formatBytes(progress.bytes)} read, ${formatBytes(progress.storedBytes)} stored`;
    bar.update({ done: progress.bytes, total: progress.totalBytes, label });
  };
  const manifest = await createOfflineBackup(command, show);
  const backup = manifest === null ? await createOnline(context, command, show) : toBackupInfo(manifest);
  bar.finish(
    `Backup ${backup.id} created: ${formatBytes(backup.store_bytes + backup.file_bytes)}, of which ${formatBytes(backup.added_bytes)} were added to the target.`,
  );
  if (options.json === true) context.terminal.out(JSON.stringify(backup));
  return exitCodes.done;
}

/** Milliseconds between reads of the progress. */
const pollMs = 200;

/** Lets the server that has the data directory open create the backup. */
async function createOnline(
  { administration, signal }: CommandContext,
  { settings, target }: BackupCommand,
  onProgress: (progress: { bytes: number; totalBytes: number; storedBytes: number }) => void,
): Promise<BackupInfo> {
  // The server has another working folder.
  const location = target.startsWith('s3://') ? target : resolve(target);
  let status = await administration.call<BackupStatusResponse>('admin/create-backup', {
    target: location,
    operator_proof: readOperatorProof(settings.data),
  });
  while (status.running !== null) {
    const { bytes, total_bytes: totalBytes, stored_bytes: storedBytes } = status.running;
    onProgress({ bytes, totalBytes, storedBytes });
    await sleep(pollMs, undefined, { signal });
    status = await administration.call<BackupStatusResponse>('admin/get-backup-status', {});
  }
  if (status.last_error !== null) throw new AppError('bad_gateway', status.last_error.message);
  if (status.last_backup === null)
    throw new AppError(
      'unavailable',
      'The server stopped during the backup. Start it, then create the backup again.',
    );
  return status.last_backup;
}

/** Null without access to the data directory: then only the configured target of the server can be used. */
function readOperatorProof(data: string): string | null {
  try {
    return createOperatorProof(readInstallationSecrets(data).secrets[0]!);
  } catch {
    return null;
  }
}

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { listBackups, toBackupInfo, toWindowInfo } = await loadBackupCommands();
  const found = await listBackups(readCommand(context, options));
  const backups = found.backups.map(toBackupInfo);
  const recoverable = found.windows.map(toWindowInfo);
  if (options.json === true) {
    context.terminal.out(JSON.stringify({ backups, recoverable }));
    return exitCodes.done;
  }
  const rows = backups.map((backup) => [
    backup.id,
    String(backup.sequence),
    formatBytes(backup.store_bytes + backup.file_bytes),
    formatBytes(backup.added_bytes),
    backup.has_secrets ? 'yes' : 'no',
  ]);
  printTable(context.terminal, ['Backup', '>Sequence', '>Size', '>Added', 'Secrets'], rows);
  for (const { from, to, from_sequence, to_sequence } of recoverable)
    context.terminal.out(`Recoverable: ${from} to ${to} (sequence ${from_sequence} to ${to_sequence})`);
  return exitCodes.done;
}

async function verify(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { verifyTarget } = await loadBackupCommands();
  let bytes = 0;
  const result = await verifyTarget(readCommand(context, options), (size) => {
    bytes += size;
    if (context.terminal.isInteractive) context.terminal.redrawLine(`${formatBytes(bytes)} verified`);
  });
  if (context.terminal.isInteractive) context.terminal.redrawLine('');
  if (options.json === true) context.terminal.out(JSON.stringify(result));
  else {
    result.problems.forEach(context.terminal.out);
    context.terminal.out(
      `${formatCount(result.backups, 'backup')}, ${formatCount(result.objects, 'object')}, ${formatCount(result.segments, 'journal segment')}, ${formatBytes(result.bytes)}: ${result.problems.length === 0 ? 'no damage found' : formatCount(result.problems.length, 'problem')}.`,
    );
  }
  return result.problems.length === 0 ? exitCodes.done : exitCodes.failed;
}

async function restore(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  if (typeof options.data !== 'string')
    throw new AppError('bad_request', 'Set --data to the new data directory of the restored backup.');
  const { restoreBackup } = await loadBackupCommands();
  const bar = new ProgressBar('Restore', context.terminal, context.clock);
  const { manifest, sequence, blobs, check, deletions, recordError } = await restoreBackup({
    ...readCommand(context, options),
    path: options.data,
    point: readPoint(options),
    onProgress: ({ bytes, totalBytes }) =>
      bar.update({ done: bytes, total: totalBytes, label: formatBytes(bytes) }),
    onCheck: () => bar.update({ done: 1, total: 1, label: 'building and searching the indexes' }),
  });
  bar.finish(
    `Restored backup ${manifest.id} to sequence ${sequence} in ${options.data}: ${formatCount(check.collections, 'collection')}, ${formatCount(check.documents, 'document')}, ${formatCount(blobs, 'file')}; searched for ${formatCount(check.searches, 'document')}.`,
  );
  const deleted = [
    formatCount(deletions.keys, 'API key'),
    formatCount(deletions.organizations, 'organization'),
    formatCount(deletions.passkeys, 'passkey'),
    formatCount(deletions.users, 'user'),
  ];
  context.terminal.note(
    `Also deleted, because they were deleted after the restored time: ${deleted.join(', ')}. All sessions ended.\n`,
  );
  if (recordError !== null)
    context.terminal.note(`The verified restore could not be recorded in the target: ${recordError}\n`);
  if (!manifest.hasSecrets)
    context.terminal.note(
      'The backup contains no secrets.json, so a new secret was created: earlier invitations, file URLs and encrypted values are invalid.\n',
    );
  if (options.json === true)
    context.terminal.out(
      JSON.stringify({ backup: manifest.id, sequence, files: blobs, ...check, deleted: deletions }),
    );
  return exitCodes.done;
}

/** Point in time to restore; the newest one without an option. */
function readPoint(options: CommandOptions): RestorePoint {
  const time = timeOption(options, 'at');
  if (time !== null) return { kind: 'time', time: Date.parse(time) };
  if (options.sequence === undefined) return { kind: 'newest' };
  const sequence = Number(options.sequence);
  if (Number.isSafeInteger(sequence) && sequence >= 0) return { kind: 'sequence', sequence };
  throw new AppError(
    'bad_request',
    `--sequence is ${JSON.stringify(options.sequence)}; expected a whole number.`,
  );
}

async function prune(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const command = readCommand(context, options);
  const keep = typeof options.keep === 'string' ? options.keep : command.settings.backupKeep;
  if (keep === null)
    throw new AppError(
      'bad_request',
      'Set --keep or QUARRY_BACKUP_KEEP to the backups to keep, for example last:3,daily:7.',
    );
  const { pruneTarget } = await loadBackupCommands();
  const result = await pruneTarget(command, keep);
  if (options.json === true) context.terminal.out(JSON.stringify(result));
  else
    context.terminal.out(
      `${formatCount(result.removed.length, 'backup')} removed, ${result.kept.length} kept; ${formatBytes(result.removedBytes)} in ${formatCount(result.removedObjects, 'object')} freed.`,
    );
  return exitCodes.done;
}
