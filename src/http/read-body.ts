import type { SharedBudget } from '../admission/shared-budget.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import type { Exchange } from './exchange.ts';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Milliseconds without a byte after which the client is given up (408). */
  readonly idleMsMax: number;
  /** Milliseconds for the whole body. */
  readonly msMax: number;
  /** How fast it has to arrive. */
  readonly minimumThroughput: MinimumThroughput;
}

export interface MinimumThroughput {
  readonly bytesPerSecondMin: number;
  /** Milliseconds of waiting for the client over which the speed is taken. */
  readonly windowMs: number;
  /** A body of fewer bytes holds so little that its speed does not matter. */
  readonly bytesMin: number;
}

function tooLargeError(bytesMax: number): AppError {
  const limit = bytesMax.toLocaleString('en-US');
  return new AppError('too_large', `The request body is larger than the limit of ${limit} bytes.`);
}

/** Refuses a body that says it is too long or comes in a coding that nobody here reads, before a byte is read. */
export function checkDeclaredBody(exchange: Exchange, bytesMax: number): void {
  const declared = exchange.body.declaredBytes;
  if (declared !== null && declared > bytesMax) throw tooLargeError(bytesMax);
  const encoding = exchange.header('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
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
  /** Time spent waiting for the client since the speed was taken last, and what arrived meanwhile. */
  #waitedMs = 0;
  #arrivedBytes = 0;

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

  /** Counts only the time in which the client is waited for, so that a slow disk of ours is not held against it. */
  #checkThroughput(bytes: number, waitedMs: number): void {
    const { bytesPerSecondMin, windowMs, bytesMin } = this.#bounds.minimumThroughput;
    this.#waitedMs += waitedMs;
    this.#arrivedBytes += bytes;
    if (this.#waitedMs < windowMs) return;
    const isSlow = this.#arrivedBytes < (this.#waitedMs / 1_000) * bytesPerSecondMin;
    if (isSlow && this.#bytes >= bytesMin && !this.isEnded) {
      const detail = `The request body arrives with less than ${bytesPerSecondMin} bytes per second.`;
      throw new AppError('request_timeout', detail);
    }
    this.#waitedMs = 0;
    this.#arrivedBytes = 0;
  }

  /** True when there is nothing left to take. */
  get isEnded(): boolean {
    return this.#exchange.body.isEnded;
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) yield chunk;
  }
}

/** The body of one request in memory, and what it is charged for. */
export interface BodyReservation {
  /** `onChunk` sees each chunk before the next is taken. Errors: those of the body; `reserve_reached` above the share. */
  read(body: BoundedBody, onChunk?: (chunk: Uint8Array) => Promise<void>): Promise<Buffer>;
  /** The same as it arrived, each part alone in its buffer, so that another thread can take it over. */
  readParts(
    body: BoundedBody,
    onChunk: (chunk: Uint8Array) => Promise<void>,
  ): Promise<Uint8Array<ArrayBuffer>[]>;
  /** Errors: `reserve_reached` (429) when the owner would hold more than its share. */
  charge(bytes: number): void;
  /** The rest of what was charged is not held anymore. */
  shrinkTo(bytes: number): void;
  /** Harmless twice. */
  release(): void;
}

/** The whole body of one request, charged to the budget of its owner until `release`. */
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
    chunkBuffers.giveBack(chunks);
    return whole;
  }

  async readParts(
    body: BoundedBody,
    onChunk: (chunk: Uint8Array) => Promise<void>,
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const chunks = await this.#readChunks(body, onChunk);
    const parts = chunks.map((chunk) => {
      const isAlone = chunk.byteLength === chunk.buffer.byteLength;
      return isAlone ? (chunk as Uint8Array<ArrayBuffer>) : new Uint8Array(chunk);
    });
    chunkBuffers.giveBack(chunks.filter((chunk) => !parts.includes(chunk as Uint8Array<ArrayBuffer>)));
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
      chunkBuffers.giveBack(chunks);
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

function memoryShareError(): AppError {
  return new AppError(
    'reserve_reached',
    'The request bodies that you send at one time reach your share of the memory for them; send fewer or smaller ones at a time.',
    { retryAfterMs: 1_000, headers: { 'x-quarry-limit': 'request-bodies' } },
  );
}
