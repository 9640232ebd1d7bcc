import { resolve } from 'node:path';
import type { BackupCommand } from '../app/backup-commands.ts';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { formatCount } from '../core/format.ts';
import type { CommandContext, CommandOptions, CommandSpec, OptionSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { ProgressBar } from './progress.ts';
import { formatBytes, formatTable } from './text-layout.ts';

const targetOption: OptionSpec = {
  flags: '--target <folder>',
  meaning: 'backup target (QUARRY_BACKUP_TARGET)',
};
const dataOption: OptionSpec = {
  flags: '--data <folder>',
  meaning: 'data directory of the server (QUARRY_DATA)',
};

export const backupCommands: readonly CommandSpec[] = [
  {
    usage: 'backup create',
    settings: 'client',
    summary: 'create a backup of a data directory',
    options: [targetOption, dataOption, jsonOption],
    examples: ['quarry backup create --target /backup/quarry'],
    interrupted: 'the next backup continues with the objects stored so far',
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
      jsonOption,
    ],
    examples: ['quarry backup restore --target /backup/quarry --data /srv/quarry-restored'],
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
  const { createOfflineBackup } = await loadBackupCommands();
  const bar = new ProgressBar('Backup', context.terminal, context.clock);
  const manifest = await createOfflineBackup(command, ({ bytes, totalBytes, storedBytes }) => {
    const label = `${formatBytes(bytes)} read, ${formatBytes(storedBytes)} stored`;
    bar.update({ done: bytes, total: totalBytes, label });
  });
  if (manifest === null)
    throw new AppError('bad_request', `There is no data directory in ${command.settings.data}.`);
  bar.finish(
    `Backup ${manifest.id} created: ${formatBytes(manifest.storeBytes + manifest.blobBytes)}, of which ${formatBytes(manifest.addedBytes)} were added to the target.`,
  );
  if (options.json === true) context.terminal.out(JSON.stringify(describe(manifest)));
  return exitCodes.done;
}

type Manifests = Awaited<ReturnType<Awaited<ReturnType<typeof loadBackupCommands>>['listBackups']>>;

/** Public fields of a manifest. */
function describe(manifest: Manifests[number]) {
  return {
    id: manifest.id,
    taken_at: new Date(manifest.takenAt).toISOString(),
    finished_at: new Date(manifest.finishedAt).toISOString(),
    lineage: manifest.lineage,
    sequence: manifest.sequence,
    store_bytes: manifest.storeBytes,
    files: manifest.blobCount,
    file_bytes: manifest.blobBytes,
    added_bytes: manifest.addedBytes,
    added_objects: manifest.addedObjects,
    has_secrets: manifest.hasSecrets,
  };
}

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { listBackups } = await loadBackupCommands();
  const backups = (await listBackups(readCommand(context, options))).map(describe);
  if (options.json === true) {
    context.terminal.out(JSON.stringify({ backups }));
    return exitCodes.done;
  }
  const rows = backups.map((backup) => [
    backup.id,
    String(backup.sequence),
    formatBytes(backup.store_bytes + backup.file_bytes),
    formatBytes(backup.added_bytes),
    backup.has_secrets ? 'yes' : 'no',
  ]);
  formatTable(['Backup', '>Sequence', '>Size', '>Added', 'Secrets'], rows).forEach(context.terminal.out);
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
      `${formatCount(result.backups, 'backup')}, ${formatCount(result.objects, 'object')}, ${formatBytes(result.bytes)}: ${result.problems.length === 0 ? 'no damage found' : formatCount(result.problems.length, 'problem')}.`,
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
  const { manifest, sequence, blobs, check } = await restoreBackup({
    ...readCommand(context, options),
    path: options.data,
    onProgress: ({ bytes, totalBytes }) =>
      bar.update({ done: bytes, total: totalBytes, label: formatBytes(bytes) }),
    onCheck: () => bar.update({ done: 1, total: 1, label: 'building and searching the indexes' }),
  });
  bar.finish(
    `Restored backup ${manifest.id} to sequence ${sequence} in ${options.data}: ${formatCount(check.collections, 'collection')}, ${formatCount(check.documents, 'document')}, ${formatCount(blobs, 'file')}; searched for ${formatCount(check.searches, 'document')}.`,
  );
  if (!manifest.hasSecrets)
    context.terminal.note(
      'The backup contains no secrets.json, so a new secret was created: invitations, file URLs and encrypted values issued before are invalid.\n',
    );
  if (options.json === true)
    context.terminal.out(JSON.stringify({ backup: manifest.id, sequence, files: blobs, ...check }));
  return exitCodes.done;
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
