import type { ParseFailureData } from '../parsing/parse-failure.ts';
import type { RenderOutcome, RenderTask } from '../parsing/parse-task.ts';
import type { Blobs } from '../store/blobs.ts';
import { isNoSpace } from '../store/durable-files.ts';
import type { DerivedFiles } from './derived-files.ts';
import type { Pool } from './pools.ts';

export interface PageImagesOptions {
  readonly pool: Pick<Pool, 'run'>;
  readonly blobs: Pick<Blobs, 'path'>;
  readonly files: Pick<DerivedFiles, 'read' | 'write'>;
}

/** Widths in pixels that pages are drawn in: a page has one image for each at most, whatever widths are asked for. */
export const pageImageWidths = [128, 256, 384, 512, 768, 1_024, 1_536, 2_000] as const;

/** Resolution at which any page is as wide as asked for, so that only the width decides. */
const fineDotsPerInch = 1_200;

/**
 * JPEG images of pages, drawn at the first request and then kept. Images belong to the raw bytes, so equal files share
 * them.
 */
export class PageImages {
  readonly #options: PageImagesOptions;
  readonly #drawing = new Map<string, Promise<Uint8Array | null>>();

  constructor(options: PageImagesOptions) {
    this.#options = options;
  }

  /**
   * The image of a page (zero-based) of a raw file; null when it has none or cannot be drawn. `width`: null for the usual
   * resolution, else the pixels that the image should at least have where that is possible.
   */
  async get(rawHash: string, page: number, width: number | null = null): Promise<Uint8Array | null> {
    const drawn =
      width === null ? null : (pageImageWidths.find((one) => one >= width) ?? pageImageWidths.at(-1)!);
    const name = `${rawHash}-${page}${drawn === null ? '' : `-${drawn}`}.jpg`;
    const kept = await this.#options.files.read(name);
    if (kept !== null) return kept;
    const drawing = this.#drawing.get(name) ?? this.#draw(name, { rawHash, page, width: drawn });
    this.#drawing.set(name, drawing);
    try {
      return await drawing;
    } finally {
      this.#drawing.delete(name);
    }
  }

  async #draw(
    name: string,
    {
      rawHash,
      page,
      width,
    }: { readonly rawHash: string; readonly page: number; readonly width: number | null },
  ): Promise<Uint8Array | null> {
    const { pool, blobs, files } = this.#options;
    const task: RenderTask = {
      kind: 'render',
      file: blobs.path(rawHash),
      page,
      ...(width === null ? {} : { widthMax: width, dotsPerInch: fineDotsPerInch }),
    };
    const outcome = await pool.run<RenderOutcome>(task, { priority: 'query' });
    if (outcome === null || isFailure(outcome)) return null;
    try {
      await files.write(name, outcome);
    } catch (error) {
      // A full disk keeps nobody from seeing the page: it is drawn again the next time.
      if (!isNoSpace(error)) throw error;
    }
    return outcome;
  }
}

function isFailure(
  outcome: Uint8Array | { readonly failure: ParseFailureData },
): outcome is { readonly failure: ParseFailureData } {
  return 'failure' in outcome;
}
