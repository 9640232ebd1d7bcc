import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Exchange } from './exchange.ts';

export interface BodyBounds {
  readonly bytesMax: number;
  /** Milliseconds without a byte after which the client is given up (408). */
  readonly idleMsMax: number;
  /** Milliseconds for the whole body. */
  readonly msMax: number;
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

/**
 * The body as it arrives, inside its bounds. Errors: `too_large` as soon as one byte too many came, `request_timeout`
 * when it comes too slowly, ClientGone.
 */
export async function* boundedBody(
  exchange: Exchange,
  bounds: BodyBounds,
  clock: Clock,
): AsyncGenerator<Uint8Array, void, undefined> {
  checkDeclaredBody(exchange, bounds.bytesMax);
  const endsAt = clock.monotonic() + bounds.msMax;
  let bytes = 0;
  for (;;) {
    const chunk = await exchange.body.take(bounds.idleMsMax);
    if (chunk === null) return;
    bytes += chunk.byteLength;
    if (bytes > bounds.bytesMax) throw tooLarge(bounds.bytesMax);
    if (clock.monotonic() > endsAt) {
      throw new AppError('request_timeout', `The request body did not arrive within ${bounds.msMax} ms.`);
    }
    yield chunk;
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

  async read(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) {
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
