import { lchown, lstat, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** Changes the owner of a folder and its contents. Does not follow links. */
export async function chownFolder(folder: string, userId: number): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  for (const path of [folder, ...entries.map((entry) => join(folder, entry))])
    await lchown(path, userId, userId);
}

/**
 * Whether a file written by a program below `folder` is a regular file with one name, in real folders. A
 * compromised program could leave a link that makes the server read a file which the program itself may not
 * read.
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
