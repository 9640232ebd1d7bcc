import { AppError } from '../core/app-error.ts';
import type { CancellationSource, FairSemaphore } from '../core/async/fair-semaphore.ts';
import { BoundedCache } from '../core/bounded-cache.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { ParseFailureData } from '../parsing/parse-failure.ts';
import type { RenderOutcome, RenderTask } from '../parsing/process/parse-task.ts';
import type { Blobs } from '../storage/blobs.ts';
import { isDiskFull } from '../storage/durable-files.ts';
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
  readonly caller: CancellationSource;
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
  readonly #renderings = new Map<string, PageRendering>();
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
    const renderWidth =
      width === null ? null : (pageImageWidths.find((one) => one >= width) ?? pageImageWidths.at(-1)!);
    const name = `${rawHash}-${page}${renderWidth === null ? '' : `-${renderWidth}`}.jpg`;
    const cached = await this.#options.files.read(name);
    if (cached !== null) return cached;
    if (this.#hasFailed(name)) return null;
    const rendering = this.#renderings.get(name) ?? this.#start(name, { ...request, width: renderWidth });
    rendering.join(caller);
    return await rendering.image;
  }

  #hasFailed(name: string): boolean {
    const failedAt = this.#failedAt.get(name);
    if (failedAt === undefined) return false;
    if (this.#options.clock.monotonic() - failedAt < limits.pageImageFailureMs) return true;
    this.#failedAt.delete(name);
    return false;
  }

  #start(name: string, request: PageImageRequest): PageRendering {
    const forget = () => {
      if (this.#renderings.get(name) === rendering) this.#renderings.delete(name);
    };
    const rendering = new PageRendering(forget);
    this.#renderings.set(name, rendering);
    rendering.image = this.#renderAndCache(name, request, rendering).finally(forget);
    return rendering;
  }

  async #renderAndCache(
    name: string,
    request: PageImageRequest,
    rendering: PageRendering,
  ): Promise<Uint8Array | null> {
    const { semaphore, files, clock } = this.#options;
    await semaphore.acquire(request.organizationId, rendering);
    let outcome: RenderOutcome;
    try {
      outcome = rendering.isCanceled ? null : await this.#render(request, rendering.signal);
    } finally {
      semaphore.release();
    }
    if (rendering.isCanceled) throw new AppError('unavailable', 'The call ended before the page was drawn.');
    if (outcome === null || isFailure(outcome)) {
      this.#failedAt.set(name, clock.monotonic(), 1);
      return null;
    }
    try {
      await files.write(name, outcome);
    } catch (error) {
      // A full disk keeps nobody from seeing the page: it is drawn again the next time.
      if (!isDiskFull(error)) throw error;
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
class PageRendering implements CancellationSource {
  image: Promise<Uint8Array | null> = Promise.resolve(null);
  readonly #controller = new AbortController();
  readonly #onCancelled: () => void;
  #callers = 0;

  /** `forget`: called when it is cancelled, so that the next caller begins anew. */
  constructor(onCancelled: () => void) {
    this.#onCancelled = onCancelled;
  }

  get isCanceled(): boolean {
    return this.#controller.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onCanceled(listener: () => void): void {
    if (this.isCanceled) listener();
    else this.signal.addEventListener('abort', listener, { once: true });
  }

  join(caller: CancellationSource): void {
    this.#callers += 1;
    caller.onCanceled(() => {
      this.#callers -= 1;
      if (this.#callers > 0) return;
      this.#onCancelled();
      this.#controller.abort();
    });
  }
}

function isFailure(
  outcome: Uint8Array | { readonly failure: ParseFailureData },
): outcome is { readonly failure: ParseFailureData } {
  return 'failure' in outcome;
}
