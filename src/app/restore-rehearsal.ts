import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseSchedule } from '../backup/backup-schedule.ts';
import type { Manifest } from '../backup/manifest.ts';
import { RestoreRehearsal } from '../backup/rehearsal.ts';
import { backupSettings } from '../config/schema/backup.ts';
import { type Settings, variableName } from '../config/schema.ts';
import { commandEnvironment } from '../config/settings.ts';
import { formatCount } from '../core/format.ts';
import type { Logger } from '../core/logger.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { clock } from './runtime.ts';

/** A restored directory has the store and the files, and an index that can be as large. */
const spaceFactor = 2;
const outputBytesMax = 1_048_576;

/** Null without a schedule or a target. */
export function openRehearsal(
  settings: Settings,
  { data, logger }: { readonly data: DataDirectory; readonly logger: Logger },
): RestoreRehearsal | null {
  const schedule = parseSchedule(settings.backupRehearsal);
  if (schedule === null || settings.backupTarget === null) return null;
  const folder = join(data.cachePath, 'rehearsal');
  const restore = async (newest: Manifest, signal: AbortSignal): Promise<void> => {
    // A server that was killed has left its folder.
    await rm(folder, { recursive: true, force: true });
    checkSpace(newest, data.space.freeBytes - settings.diskReserveBytes);
    try {
      await runRestore(settings, folder, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  return new RestoreRehearsal({ schedule, restore, clock, logger });
}

function checkSpace({ storeBytes, blobBytes }: Manifest, freeBytes: number): void {
  const neededBytes = spaceFactor * (storeBytes + blobBytes);
  if (freeBytes >= neededBytes) return;
  const needed = formatCount(neededBytes, 'byte');
  throw new Error(
    `The disk of the data directory has too little free space: ${needed} are needed in addition to QUARRY_DISK_RESERVE_BYTES.`,
  );
}

/** Runs `quarry backup restore` in a process of its own: it opens all indexes, and a failure must not end the server. */
async function runRestore(settings: Settings, folder: string, signal: AbortSignal): Promise<void> {
  const own = Object.keys(backupSettings).flatMap((name) => {
    const value = settings[name as keyof typeof backupSettings];
    return value === null ? [] : [[variableName(name), String(value)] as const];
  });
  const program = [...process.execArgv, process.argv[1] ?? '', 'backup', 'restore', '--data', folder];
  const options = { env: commandEnvironment(Object.fromEntries(own)), signal, maxBuffer: outputBytesMax };
  try {
    await promisify(execFile)(process.execPath, program, options);
  } catch (cause) {
    const { stderr = '', message } = cause as { stderr?: string; message: string };
    const lastLine = stderr.trimEnd().split('\n').at(-1) ?? '';
    throw new Error(lastLine === '' ? message : lastLine.replace(/^quarry: /, ''), { cause });
  }
}
