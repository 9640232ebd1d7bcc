import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { seededRandom } from '../index/samples.ts';
import { languageSamples } from './language-samples.ts';

const separators = ['', ' ', '\n', '. ', ' | '];
const pieceUnitsMax = 120;

/** Natural text from a seed: random excerpts of this project's files, mixed. */
export class NaturalTextSampler {
  readonly #random: () => number;
  /** Sentences in many languages, documents, and source code with comments. */
  readonly #sources: readonly (readonly string[])[];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    const documents = ['bench', 'models', 'native'].flatMap((folder) => read(folder, /\.md$/));
    this.#sources = [
      Object.values(languageSamples),
      [...['README.md', 'LICENSE'].map(readOne), ...documents],
      ['src', 'web', 'native'].flatMap((folder) => read(folder, /\.(ts|tsx|css|cc|h)$/)),
    ];
  }

  /** One to three excerpts, each unchanged, in upper case, or with decomposed accents. */
  next(): string {
    let text = '';
    for (let pieces = 1 + this.#randomBelow(3); pieces > 0; pieces -= 1) {
      const whole = this.#pickRandom(this.#pickRandom(this.#sources));
      const start = this.#randomBelow(whole.length);
      const piece = whole.slice(start, start + 1 + this.#randomBelow(pieceUnitsMax));
      text += this.#pickRandom([piece, piece, piece.toUpperCase(), piece.normalize('NFD')]);
      if (pieces > 1) text += this.#pickRandom(separators);
    }
    return text;
  }

  #randomBelow(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #pickRandom<T>(items: readonly T[]): T {
    return items[this.#randomBelow(items.length)]!;
  }
}

function readOne(file: string): string {
  return readFileSync(join(projectRoot, file), 'utf8');
}

/** Contents of the files of a folder whose names match, ordered by name. */
function read(folder: string, names: RegExp): string[] {
  const files = readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => names.test(file))
    .sort()
    .map((file) => readOne(join(folder, file)));
}
