import { constants } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';

/** Makes creations, renames and removals in a folder survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a new file and fsyncs it; its folder is not synced. Errors: EEXIST. */
export async function writeFileSynced(path: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const part of parts) await file.appendFile(part);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Replaces a small file atomically: a reader sees, even after a crash, either the old or the new content. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** Reads a small file; null if there is none. */
export async function readIfExists(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Whether the disk, or the quota of the user, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Settles as `work` does, but maps a full disk to `AppError` `reserve_reached`. */
export async function mapDiskFullError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!isDiskFull(cause)) throw cause;
    throw new AppError('reserve_reached', 'The disk of the data directory is full. Nothing was stored.', {
      retryAfterMs: 5_000,
      cause,
    });
  }
}
