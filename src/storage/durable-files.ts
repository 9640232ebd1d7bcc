import { constants } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../core/app-error.ts';

/** Makes names that were created, renamed or removed in a folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces a small file in one step: a reader, also after a crash, sees the old text or the new, whole. */
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

/** The disk, or the user's share of it, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Settles as `work` does, but with `AppError` reserve_reached when the disk was full. */
export async function mapDiskFullError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!isDiskFull(cause)) throw cause;
    throw new AppError('reserve_reached', 'The disk of the data directory is full; nothing was stored.', {
      retryAfterMs: 5_000,
      cause,
    });
  }
}
