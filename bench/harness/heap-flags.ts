import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';

/**
 * Flags of Node.js in `npm start`, with which a bench or a test starts the server, too.
 *
 * `--max-semi-space-size=32` halves the number of young collections: `server` (`snippets`, 32 connections) takes 254
 * instead of 265 us of CPU per query. `--initial-old-space-size=64` makes the first full collection come when the old
 * objects take 64 MB; without it, they grow to 170 MB in an overload although a third of that is in use, and the process
 * takes 1.36 times the memory that it needs at its sustainable rate, instead of .99 times (`npm run campaign -- --only
 * overload`). Later limits follow the memory in use, with or without the flag.
 */
export const heapFlags = readStartFlags();

function readStartFlags(): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  return scripts.start.match(/--\S+/g) ?? [];
}
