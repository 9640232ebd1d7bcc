import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Exchange } from './exchange.ts';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Milliseconds without a byte after which the client is given up (408). */
  readonly idleMsMax: number;
  /** Milliseconds for the whole body. */
  readonly msMax: number;
  /** Bytes per second that a body must have come with once it takes long; absent: `msMax` is bound enough. */
  readonly bytesPerSecondMin?: number;
}

function tooLarge(bytesMax: number): AppError {
  const limit = bytesMax.toLocaleString('en-US');
  return new AppError('too_large', `The request body is larger than the limit of ${limit} bytes.`);
}

/** Refuses a body that says it is too long or comes in a coding that nobody here reads, before a byte is read. */
export function checkDeclaredBody(exchange: Exchange, bytesMax: number): void {
  const declared = exchange.body.declaredBytes;
  if (declared !== null && declared > bytesMax) throw tooLarge(bytesMax);
  const coding = exchange.header('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new AppError('bad_request', 'The request body is compressed (content-encoding); send it as it is.');
  }
}

/** Takes a body as it arrives, inside its bounds. */
export class BoundedBody {
  readonly #exchange: Exchange;
  readonly #bounds: BodyBounds;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #bytes = 0;

  /** Errors: as `checkDeclaredBody`. */
  constructor(exchange: Exchange, bounds: BodyBounds, clock: Clock) {
    checkDeclaredBody(exchange, bounds.bytesMax);
    this.#exchange = exchange;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /**
   * The next bytes, null at the end. Errors: `too_large` as soon as one byte too many came, `request_timeout` when it
   * comes too slowly, ClientGone.
   */
  async take(): Promise<Uint8Array | null> {
    const { bytesMax, idleMsMax, msMax, bytesPerSecondMin = 0 } = this.#bounds;
    const chunk = await this.#exchange.body.take(idleMsMax);
    if (chunk === null) return null;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > bytesMax) throw tooLarge(bytesMax);
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    if (elapsedMs > msMax) {
      throw new AppError('request_timeout', `The request body did not arrive within ${msMax} ms.`);
    }
    if (elapsedMs > limits.uploadSlowStartMs && this.#bytes < (elapsedMs / 1_000) * bytesPerSecondMin) {
      const detail = `The request body arrives with less than ${bytesPerSecondMin} bytes per second.`;
      throw new AppError('request_timeout', detail);
    }
    return chunk;
  }

  /** True when there is nothing left to take. */
  get ended(): boolean {
    return this.#exchange.body.ended;
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = await this.take(); chunk !== null; chunk = await this.take()) yield chunk;
  }
}

/** Bytes of whole request bodies that are in memory now, over all requests, and how many may be. */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Errors: `reserve_reached` (429) when the bodies of all requests together would be too much. */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) {
      const limit = this.#bytesMax.toLocaleString('en-US');
      throw new AppError(
        'reserve_reached',
        `The request bodies being read now reach the memory limit of ${limit} bytes; try again shortly.`,
        { retryAfterMs: 1_000 },
      );
    }
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** The whole body of one request, counted in a budget until `release`. */
export class WholeBody {
  readonly #budget: BodyBudget;
  #bytes = 0;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  async read(body: BoundedBody): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let chunk = await body.take(); chunk !== null; chunk = body.ended ? null : await body.take()) {
      this.#budget.take(chunk.byteLength);
      this.#bytes += chunk.byteLength;
      parts.push(chunk);
    }
    const [only] = parts;
    if (only === undefined || parts.length > 1) return Buffer.concat(parts);
    return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
  }

  /** Harmless twice. */
  release(): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}
