import { AppError } from '../base/app-error.ts';
import { BoundedCache } from '../base/bounded-cache.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Cancellation, FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { ParseFailureData } from '../parsing/parse-failure.ts';
import type { RenderOutcome, RenderTask } from '../parsing/parse-task.ts';
import type { Blobs } from '../store/blobs.ts';
import { isNoSpace } from '../store/durable-files.ts';
import type { DerivedFiles } from './derived-files.ts';
import { askParser } from './parser-call.ts';
import type { Pool } from './pools.ts';

export interface PageImagesOptions {
  readonly pool: Pick<Pool, 'run'>;
  /** Shares the pool between organizations and bounds how many requests of each may wait. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  readonly blobs: Pick<Blobs, 'path'>;
  readonly files: Pick<DerivedFiles, 'read' | 'write'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export interface PageImageRequest {
  readonly organizationId: string;
  readonly rawHash: string;
  /** Zero-based. */
  readonly page: number;
  /** Null for the usual resolution, else the pixels that the image should at least have where that is possible. */
  readonly width?: number | null;
  readonly caller: Cancellation;
}

/** Widths in pixels that pages are drawn in: a page has one image for each at most, whatever widths are asked for. */
export const pageImageWidths = [128, 256, 384, 512, 768, 1_024, 1_536, 2_000] as const;

/** Resolution at which any page is as wide as asked for, so that only the width decides. */
const fineDotsPerInch = 1_200;

/**
 * JPEG images of pages, drawn at the first request and then kept. Images belong to the raw bytes, so equal files share
 * them. Organizations take turns at the parsers; a page that no client waits for any more is not drawn, and one that
 * could not be drawn is not tried again for a while.
 */
export class PageImages {
  readonly #options: PageImagesOptions;
  readonly #drawing = new Map<string, Drawing>();
  /** When pages could not be drawn, by name. */
  readonly #failedAt = new BoundedCache<number>(limits.pageImageFailuresMax);

  constructor(options: PageImagesOptions) {
    this.#options = options;
  }

  /**
   * The image of a page of a raw file; null when it has none or cannot be drawn. Errors: `rate_limited` when too many
   * requests of the organization wait, `unavailable` for a caller that left.
   */
  async get(request: PageImageRequest): Promise<Uint8Array | null> {
    const { rawHash, page, width = null, caller } = request;
    const drawn =
      width === null ? null : (pageImageWidths.find((one) => one >= width) ?? pageImageWidths.at(-1)!);
    const name = `${rawHash}-${page}${drawn === null ? '' : `-${drawn}`}.jpg`;
    const kept = await this.#options.files.read(name);
    if (kept !== null) return kept;
    if (this.#hasFailed(name)) return null;
    const drawing = this.#drawing.get(name) ?? this.#begin(name, { ...request, width: drawn });
    drawing.join(caller);
    return await drawing.image;
  }

  #hasFailed(name: string): boolean {
    const failedAt = this.#failedAt.get(name);
    if (failedAt === undefined) return false;
    if (this.#options.clock.monotonic() - failedAt < limits.pageImageFailureMs) return true;
    this.#failedAt.delete(name);
    return false;
  }

  #begin(name: string, request: PageImageRequest): Drawing {
    const forget = () => {
      if (this.#drawing.get(name) === drawing) this.#drawing.delete(name);
    };
    const drawing = new Drawing(forget);
    this.#drawing.set(name, drawing);
    drawing.image = this.#draw(name, request, drawing).finally(forget);
    return drawing;
  }

  async #draw(name: string, request: PageImageRequest, drawing: Drawing): Promise<Uint8Array | null> {
    const { semaphore, files, clock } = this.#options;
    await semaphore.acquire(request.organizationId, drawing);
    let outcome: RenderOutcome;
    try {
      outcome = drawing.gone ? null : await this.#render(request, drawing.signal);
    } finally {
      semaphore.release();
    }
    if (drawing.gone) throw new AppError('unavailable', 'The call ended before the page was drawn.');
    if (outcome === null || isFailure(outcome)) {
      this.#failedAt.set(name, clock.monotonic(), 1);
      return null;
    }
    try {
      await files.write(name, outcome);
    } catch (error) {
      // A full disk keeps nobody from seeing the page: it is drawn again the next time.
      if (!isNoSpace(error)) throw error;
    }
    return outcome;
  }

  #render(
    { organizationId, rawHash, page, width = null }: PageImageRequest,
    signal: AbortSignal,
  ): Promise<RenderOutcome> {
    const { pool, blobs } = this.#options;
    const task: RenderTask = {
      kind: 'render',
      file: blobs.path(rawHash),
      organizationId,
      page,
      ...(width === null ? {} : { widthMax: width, dotsPerInch: fineDotsPerInch }),
    };
    return askParser<RenderOutcome>(pool, task, { priority: 'query', signal });
  }
}

/** A page on its way, and the callers that wait for it. It is cancelled when the last of them leaves. */
class Drawing implements Cancellation {
  image: Promise<Uint8Array | null> = Promise.resolve(null);
  readonly #controller = new AbortController();
  readonly #forget: () => void;
  #waiting = 0;

  /** `forget`: called when it is cancelled, so that the next caller begins anew. */
  constructor(forget: () => void) {
    this.#forget = forget;
  }

  get gone(): boolean {
    return this.#controller.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onGone(listener: () => void): void {
    if (this.gone) listener();
    else this.signal.addEventListener('abort', listener, { once: true });
  }

  join(caller: Cancellation): void {
    this.#waiting += 1;
    caller.onGone(() => {
      this.#waiting -= 1;
      if (this.#waiting > 0) return;
      this.#forget();
      this.#controller.abort();
    });
  }
}

function isFailure(
  outcome: Uint8Array | { readonly failure: ParseFailureData },
): outcome is { readonly failure: ParseFailureData } {
  return 'failure' in outcome;
}
