import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from './assert.ts';

function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    assert(parent !== folder, 'the program runs inside its own package');
    folder = parent;
  }
  return folder;
}

/**
 * Absolute folder of package.json. `models/`, `build/` and `dist/` lie below it, both from source and from
 * `dist`.
 */
export const projectRoot: string = findRoot();

/**
 * Absolute folder of the compiled code. Threads and processes are started from files below it; paths relative to the
 * starting module would break where modules are bundled.
 */
export const compiledRoot: string = join(projectRoot, 'dist');

/** Folders with packages: the one of the project, and the one that npm installed the published package into. */
function findPackageFolders(): string[] {
  const own = join(projectRoot, 'node_modules');
  const parent = dirname(projectRoot);
  return [own, ...(basename(parent) === 'node_modules' ? [parent] : [])].filter(existsSync);
}

export const packageFolders: readonly string[] = findPackageFolders();
