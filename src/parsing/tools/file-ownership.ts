import { lchown, lstat, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** Hands a folder of the server, with all that is in it, to another user. Follows no links. */
export async function chownFolder(folder: string, userId: number): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  for (const path of [folder, ...entries.map((entry) => join(folder, entry))])
    await lchown(path, userId, userId);
}

/**
 * Whether a file that a program has written below `folder` is what it seems: a program that was taken over could leave a
 * link in its place, for the server to follow to a file that the program itself may not read.
 */
export async function isRegularFile(folder: string, file: string): Promise<boolean> {
  let path = folder;
  const steps = relative(folder, file).split(sep);
  for (const [i, step] of steps.entries()) {
    path = join(path, step);
    const found = await lstat(path).catch(() => null);
    if (found === null || step === '..') return false;
    const isLast = i === steps.length - 1;
    if (isLast ? !found.isFile() || found.nlink !== 1 : !found.isDirectory()) return false;
  }
  return true;
}
