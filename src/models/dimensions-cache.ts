import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../core/error-code.ts';

/** Caches the vector length of a service on disk, so that the server starts while the service is down. */
export class DimensionsCache {
  readonly #folder: string;
  readonly #file: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#file = join(folder, `${name}.json`);
  }

  async read(): Promise<number | null> {
    try {
      const { width } = JSON.parse(await readFile(this.#file, 'utf8')) as { readonly width: unknown };
      return typeof width === 'number' && width > 0 ? width : null;
    } catch (error) {
      // Missing or truncated file: the length is requested from the service.
      if (error instanceof SyntaxError || hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  async write(width: number): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await writeFile(`${this.#file}.new`, JSON.stringify({ width }));
    await rename(`${this.#file}.new`, this.#file);
  }
}
