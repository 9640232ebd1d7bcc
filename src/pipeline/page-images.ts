import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Chance } from '../base/ids.ts';
import type { ParseFailureData } from '../parsing/parse-failure.ts';
import type { RenderOutcome, RenderTask } from '../parsing/parse-task.ts';
import type { Blobs } from '../store/blobs.ts';
import { isNoSpace } from '../store/durable-files.ts';
import type { Pool } from './pools.ts';

export interface PageImagesOptions {
  readonly pool: Pick<Pool, 'run'>;
  readonly blobs: Pick<Blobs, 'path' | 'size'>;
  /** Folder of the raw files. */
  readonly blobsFolder: string;
  /** Folder of the images; what is in it can be made again. */
  readonly folder: string;
  /** Bytes that all images together may take. */
  readonly bytesMax: number;
  readonly chance: Chance;
}

/** Hexadecimal digits that an image's name begins with. */
const hashLength = 64;

interface Cached {
  readonly bytes: number;
}

/**
 * JPEG images of pages, drawn at the first request and kept on disk up to a bound; the image that was used longest ago
 * goes first. Images belong to the raw bytes, so equal files share them.
 */
export class PageImages {
  readonly #options: PageImagesOptions;
  /** By file name, in the order of use. */
  readonly #cached = new Map<string, Cached>();
  readonly #drawing = new Map<string, Promise<Uint8Array | null>>();
  #bytes = 0;

  static async open(options: PageImagesOptions): Promise<PageImages> {
    const images = new PageImages(options);
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(options.folder)) {
      const path = join(options.folder, name);
      if (name.endsWith('.jpg')) images.#remember(name, (await stat(path)).size);
      else await rm(path, { force: true });
    }
    await images.removeOrphans();
    return images;
  }

  private constructor(options: PageImagesOptions) {
    this.#options = options;
  }

  /** The image of a page (zero-based) of a raw file; null when it has none or cannot be drawn. */
  async get(rawHash: string, page: number): Promise<Uint8Array | null> {
    const name = `${rawHash}-${page}.jpg`;
    const kept = await this.#read(name);
    if (kept !== null) return kept;
    const drawing = this.#drawing.get(name) ?? this.#draw(name, rawHash, page);
    this.#drawing.set(name, drawing);
    try {
      return await drawing;
    } finally {
      this.#drawing.delete(name);
    }
  }

  /** Deletes the images of files that are gone. */
  async removeOrphans(): Promise<void> {
    for (const name of [...this.#cached.keys()]) {
      if ((await this.#options.blobs.size(name.slice(0, hashLength))) !== null) continue;
      this.#forget(name);
      await rm(join(this.#options.folder, name), { force: true });
    }
  }

  async #read(name: string): Promise<Uint8Array | null> {
    const cached = this.#cached.get(name);
    if (cached === undefined) return null;
    this.#cached.delete(name);
    this.#cached.set(name, cached);
    try {
      return await readFile(join(this.#options.folder, name));
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
      this.#forget(name);
      return null;
    }
  }

  async #draw(name: string, rawHash: string, page: number): Promise<Uint8Array | null> {
    const { pool, blobs, blobsFolder } = this.#options;
    const task: RenderTask = { kind: 'render', file: blobs.path(rawHash), folder: blobsFolder, page };
    const outcome = await pool.run<RenderOutcome>(task, { priority: 'query' });
    if (outcome === null || isFailure(outcome)) return null;
    try {
      await this.#keep(name, outcome);
    } catch (error) {
      // A full disk keeps nobody from seeing the page: it is drawn again the next time.
      if (!isNoSpace(error)) throw error;
    }
    return outcome;
  }

  async #keep(name: string, bytes: Uint8Array): Promise<void> {
    const { folder, chance } = this.#options;
    const temporary = join(folder, `${chance.uuid()}.part`);
    try {
      await writeFile(temporary, bytes, { mode: 0o600 });
      await rename(temporary, join(folder, name));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    this.#remember(name, bytes.byteLength);
    for (const oldest of this.#cached.keys()) {
      if (this.#bytes <= this.#options.bytesMax) break;
      this.#forget(oldest);
      await rm(join(folder, oldest), { force: true });
    }
  }

  #remember(name: string, bytes: number): void {
    this.#forget(name);
    this.#cached.set(name, { bytes });
    this.#bytes += bytes;
  }

  #forget(name: string): void {
    this.#bytes -= this.#cached.get(name)?.bytes ?? 0;
    this.#cached.delete(name);
  }
}

function isFailure(
  outcome: Uint8Array | { readonly failure: ParseFailureData },
): outcome is { readonly failure: ParseFailureData } {
  return 'failure' in outcome;
}
