// Fingerprints of the inputs of a build step.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Paths relative to `root`, with the separator of this system, sorted; empty when the folder does not exist. */
export function listFiles(root, folder, matches) {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && matches(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split(sep).includes('node_modules'))
    .sort();
}

/** Hash over the names and contents of `paths` and over `context`. */
export function computeFingerprint(root, paths, context) {
  const hash = createHash('sha256').update(JSON.stringify(context));
  for (const path of paths) {
    const content = readFileSync(join(root, path));
    hash.update(`\n${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

export function readFileIfExists(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}
