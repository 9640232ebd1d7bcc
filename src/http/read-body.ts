import type { SharedBudget } from '../admission/shared-budget.ts';
import { AppError } from '../core/app-error.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import type { Exchange } from './exchange.ts';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Milliseconds without a byte after which the request fails with 408. */
  readonly idleMsMax: number;
  /** Milliseconds for the whole body. */
  readonly msMax: number;
  /** Minimum rate at which the body must arrive. */
  readonly minimumThroughput: MinimumThroughput;
}

export interface MinimumThroughput {
  readonly bytesPerSecondMin: number;
  /** Milliseconds of waiting for the client over which the rate is measured. */
  readonly windowMs: number;
  /** Bodies of fewer bytes hold too little memory for their rate to matter. */
  readonly bytesMin: number;
}

function tooLargeError(bytesMax: number): AppError {
  const limit = bytesMax.toLocaleString('en-US');
  return new AppError('too_large', `The request body is larger than the limit of ${limit} bytes.`);
}

/**
 * Rejects a body whose content-length is too large or whose content-encoding is unsupported, before reading
 * it.
 */
export function checkDeclaredBody(exchange: Exchange, bytesMax: number): void {
  const declared = exchange.body.declaredBytes;
  if (declared !== null && declared > bytesMax) throw tooLargeError(bytesMax);
  const encoding = exchange.header('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AppError(
      'bad_request',
      'Compressed request bodies (content-encoding) are not supported. Send the body uncompressed.',
    );
  }
}

/** Reads a body as it arrives, within its bounds. */
export class BoundedBody {
  readonly #exchange: Exchange;
  readonly #bounds: BodyBounds;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #bytes = 0;
  /** Milliseconds waited for the client since the last rate measurement, and bytes received meanwhile. */
  #waitedMs = 0;
  #arrivedBytes = 0;

  constructor(exchange: Exchange, bounds: BodyBounds, clock: Clock) {
    this.#exchange = exchange;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /**
   * Returns the next chunk, or null at the end. Errors: `too_large` with the first byte over the limit,
   * `request_timeout` when the body arrives too slowly, ClientDisconnectedError.
   */
  async read(): Promise<Uint8Array | null> {
    const { bytesMax, idleMsMax, msMax } = this.#bounds;
    const startedAt = this.#clock.monotonic();
    const chunk = await this.#exchange.body.read(idleMsMax);
    if (chunk === null) return null;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > bytesMax) throw tooLargeError(bytesMax);
    const now = this.#clock.monotonic();
    if (now - this.#startedAt > msMax) {
      throw new AppError('request_timeout', `The request body did not arrive within ${msMax} ms.`);
    }
    this.#checkThroughput(chunk.byteLength, now - startedAt);
    return chunk;
  }

  /**
   * Counts only time spent waiting for the client, so a slow disk of the server does not count against it.
   */
  #checkThroughput(bytes: number, waitedMs: number): void {
    const { bytesPerSecondMin, windowMs, bytesMin } = this.#bounds.minimumThroughput;
    this.#waitedMs += waitedMs;
    this.#arrivedBytes += bytes;
    if (this.#waitedMs < windowMs) return;
    const isSlow = this.#arrivedBytes < (this.#waitedMs / 1_000) * bytesPerSecondMin;
    if (isSlow && this.#bytes >= bytesMin && !this.isEnded) {
      const detail = `The request body arrives too slowly; at least ${bytesPerSecondMin} bytes per second are required.`;
      throw new AppError('request_timeout', detail);
    }
    this.#waitedMs = 0;
    this.#arrivedBytes = 0;
  }

  /** Whether the whole body was read. */
  get isEnded(): boolean {
    return this.#exchange.body.isEnded;
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) yield chunk;
  }
}

/** Memory of one request body, charged to its owner. */
export interface BodyReservation {
  /**
   * Reads the whole body. `onChunk` sees each chunk before the next is read. Errors: those of the body;
   * `reserve_reached` above the share of the owner.
   */
  read(body: BoundedBody, onChunk?: (chunk: Uint8Array) => Promise<void>): Promise<Buffer>;
  /**
   * Same as `read`, but returns the parts as received, each alone in its buffer, so that it can be
   * transferred to another thread. Yields between the copies that this takes.
   */
  readParts(
    body: BoundedBody,
    onChunk: (chunk: Uint8Array) => Promise<void>,
    yieldToEventLoop: YieldToEventLoop,
  ): Promise<Uint8Array<ArrayBuffer>[]>;
  /** Errors: `reserve_reached` (429) when the owner would exceed its share. */
  charge(bytes: number): void;
  /** Reduces the charge to `bytes`. */
  shrinkTo(bytes: number): void;
  /** Idempotent. */
  release(): void;
}

/** Charges the whole body of one request to the budget of its owner until `release`. */
export class BudgetedBodyReservation implements BodyReservation {
  readonly #budget: SharedBudget;
  readonly #owner: string;
  #bytes = 0;

  constructor(budget: SharedBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  async read(body: BoundedBody, onChunk?: (chunk: Uint8Array) => Promise<void>): Promise<Buffer> {
    const chunks = await this.#readChunks(body, onChunk);
    const [first] = chunks;
    if (first !== undefined && chunks.length === 1)
      return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
    const whole = Buffer.concat(chunks);
    chunkBuffers.release(chunks);
    return whole;
  }

  async readParts(
    body: BoundedBody,
    onChunk: (chunk: Uint8Array) => Promise<void>,
    yieldToEventLoop: YieldToEventLoop,
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    // Copied only now, so that the chunks of a rejected body return to the pool instead of leaving garbage.
    for (const chunk of await this.#readChunks(body, onChunk)) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      const part = toOwnBuffer(chunk);
      if (part !== chunk) chunkBuffers.release([chunk]);
      parts.push(part);
    }
    return parts;
  }

  async #readChunks(
    body: BoundedBody,
    onChunk?: (chunk: Uint8Array) => Promise<void>,
  ): Promise<Uint8Array[]> {
    const chunks: Uint8Array[] = [];
    try {
      for (let chunk = await body.read(); chunk !== null; chunk = body.isEnded ? null : await body.read()) {
        chunks.push(chunk);
        this.charge(chunk.byteLength);
        if (onChunk !== undefined) await onChunk(chunk);
      }
      return chunks;
    } catch (error) {
      chunkBuffers.release(chunks);
      throw error;
    }
  }

  charge(bytes: number): void {
    if (!this.#budget.tryAcquire(this.#owner, bytes)) throw memoryShareError();
    this.#bytes += bytes;
  }

  shrinkTo(bytes: number): void {
    const freed = Math.max(0, this.#bytes - bytes);
    this.#budget.release(this.#owner, freed);
    this.#bytes -= freed;
  }

  release(): void {
    this.shrinkTo(0);
  }
}

/** Returns bytes that are alone in their buffer, so that it can be transferred. */
function toOwnBuffer(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  const isAlone = chunk.byteLength === chunk.buffer.byteLength;
  return isAlone ? (chunk as Uint8Array<ArrayBuffer>) : new Uint8Array(chunk);
}

function memoryShareError(): AppError {
  return new AppError(
    'reserve_reached',
    'Your concurrent request bodies exceed your share of memory. Send fewer or smaller requests at a time.',
    { retryAfterMs: 1_000, headers: { 'x-quarry-limit': 'request-bodies' } },
  );
}
