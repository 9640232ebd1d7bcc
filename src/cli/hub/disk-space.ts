import { statfs } from 'node:fs/promises';
import { AppError } from '../../core/app-error.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import { formatBytes } from '../text-layout.ts';

/** Errors: AppError if the file system of `folder` has fewer than `bytes` free. */
export async function checkFreeSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes) return;
  throw new AppError(
    'too_large',
    `${folder} has ${formatBytes(bavail * bsize)} free, but ${formatBytes(bytes)} are needed. Free disk space first.`,
  );
}

/** Runs work that writes files. Errors: AppError if the disk is full, or a limit of the process is reached. */
export async function whileDiskHasSpace<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!hasErrorCode(cause, 'ENOSPC', 'EDQUOT', 'EFBIG')) throw cause;
    throw new AppError('too_large', `${what} cannot be written: ${(cause as Error).message}.`, { cause });
  }
}
