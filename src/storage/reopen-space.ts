import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';

/**
 * Checks the space for reopening, which first copies the log into tables: without enough space, a reopened
 * database could not even be read. Errors: `AppError` reserve_reached.
 */
export async function checkReopenSpace(location: string): Promise<void> {
  let logBytes = 0;
  for (const name of await readdir(location)) {
    if (name.endsWith('.log')) logBytes += (await stat(join(location, name))).size;
  }
  const { bavail, bsize } = await statfs(location);
  const neededBytes = logBytes + limits.storeReopenBytes;
  if (bavail * bsize < neededBytes) {
    throw new AppError('reserve_reached', `The disk has less than ${neededBytes} bytes free.`);
  }
}
