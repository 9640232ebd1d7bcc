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
import { callParserForClient } from './parser-call.ts';
import type { Pool } from './pools.ts';

export interface PageImagesOptions {
  readonly pool: Pick<Pool, 'run'>;
  /** Shares the pool between organizations and bounds the number of waiting requests of each. */
  readonly semaphore: Pick<FairSemaphore, 'acquire' | 'release'>;
  readonly blobs: Pick<Blobs, 'use'>;
  readonly files: Pick<DerivedFiles, 'read' | 'write'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export interface PageImageRequest {
  readonly organizationId: string;
  readonly rawHash: string;
  /** Zero-based. */
  readonly page: number;
  /** Minimum width in pixels where possible; null for the default resolution. */
  readonly width?: number | null;
  readonly caller: CancellationSource;
}

/**
 * Widths in pixels that pages are rendered in: a page has at most one image per width, regardless of the
 * requested widths.
 */
export const pageImageWidths = [128, 256, 384, 512, 768, 1_024, 1_536, 2_000] as const;

/** Resolution high enough for any page to reach the requested width, so that only the width limits the size. */
const fineDotsPerInch = 1_200;

/**
 * JPEG images of pages, rendered at the first request and then cached. Images are keyed by the raw bytes, so
 * equal files share them. Organizations take turns at the parsers; a page with no waiting client is not
 * rendered, and a failed page is not retried for `limits.pageImageFailureMs`.
 */
export class PageImages {
  readonly #options: PageImagesOptions;
  readonly #renderings = new Map<string, PageRendering>();
  /** Times of failed renderings, by name. */
  readonly #failedAt = new BoundedCache<number>(limits.pageImageFailuresMax);

  constructor(options: PageImagesOptions) {
    this.#options = options;
  }

  /**
   * Returns the image of a page of a raw file; null when it has none or cannot be rendered. Errors:
   * `rate_limited` when too many requests of the organization wait, `unavailable` for a caller that left.
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
    if (rendering.isCanceled)
      throw new AppError('unavailable', 'The request was canceled before the page was rendered.');
    if (outcome === null || isFailure(outcome)) {
      this.#failedAt.set(name, clock.monotonic(), 1);
      return null;
    }
    try {
      await files.write(name, outcome);
    } catch (error) {
      // A full disk does not prevent the reply: the page is rendered again for the next request.
      if (!isDiskFull(error)) throw error;
    }
    return outcome;
  }

  async #render(
    { organizationId, rawHash, page, width = null }: PageImageRequest,
    signal: AbortSignal,
  ): Promise<RenderOutcome> {
    const { pool, blobs } = this.#options;
    const file = await blobs.use(rawHash);
    const task: RenderTask = {
      kind: 'render',
      file: file.path,
      organizationId,
      page,
      ...(width === null ? {} : { widthMax: width, dotsPerInch: fineDotsPerInch }),
    };
    const rendering = callParserForClient<RenderOutcome>(pool, task, { priority: 'query', signal });
    return rendering.finally(() => file.release());
  }
}

/** A rendering in progress and its waiting callers. It is canceled when the last caller leaves. */
class PageRendering implements CancellationSource {
  image: Promise<Uint8Array | null> = Promise.resolve(null);
  readonly #controller = new AbortController();
  readonly #onCanceled: () => void;
  #callers = 0;

  /** `onCanceled`: called on cancellation, so that the next caller starts a new rendering. */
  constructor(onCanceled: () => void) {
    this.#onCanceled = onCanceled;
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
      this.#onCanceled();
      this.#controller.abort();
    });
  }
}

function isFailure(
  outcome: Uint8Array | { readonly failure: ParseFailureData },
): outcome is { readonly failure: ParseFailureData } {
  return 'failure' in outcome;
}
