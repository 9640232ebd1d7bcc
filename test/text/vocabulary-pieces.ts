import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';

/** Vocabulary of the built-in models. */
export function vocabularyPieces(): string[] {
  const file = join(projectRoot, 'models', 'zembed-1', 'vocabulary.txt');
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}
