import type { BodyLimits } from '../admission/body-limits.ts';
import { SharedBudget } from '../admission/shared-budget.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Exchange } from './exchange.ts';
import { parseJson } from './json-body.ts';
import { JsonScanner } from './json-scanner.ts';
import {
  type BodyReservation,
  BoundedBody,
  BudgetedBodyReservation,
  checkDeclaredBody,
} from './read-body.ts';

export interface RequestBodyReaderOptions {
  /** Bytes of memory for all request bodies that are read whole. */
  readonly bytesMax: number;
  readonly bodyIdleMsMax: number;
  readonly requestMsMax: number;
  readonly clock: Clock;
}

/** Bytes of JSON scanned between two checks of the time, about 0.1 ms. */
const scanBytesMax = 16_384;

export interface BodyReadRequest {
  readonly exchange: Exchange;
  readonly limits: BodyLimits;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Reads whole request bodies, within the limits of their operation and the share of their owner. */
export class RequestBodyReader {
  readonly #options: RequestBodyReaderOptions;
  readonly #budget: SharedBudget;

  constructor(options: RequestBodyReaderOptions) {
    this.#options = options;
    this.#budget = new SharedBudget(options.bytesMax);
  }

  /** Bytes of memory currently charged. */
  get reservedBytes(): number {
    return this.#budget.used;
  }

  /**
   * Returns the reservation of one request of `owner` (an organization, user or address), held until
   * `release`.
   */
  reserve(owner: string): BodyReservation {
    return new BudgetedBodyReservation(this.#budget, owner);
  }

  async readBytes(
    reservation: BodyReservation,
    { exchange, limits: { bytesMax } }: BodyReadRequest,
  ): Promise<Buffer> {
    return await reservation.read(this.#openBody(exchange, bytesMax));
  }

  /**
   * Reads and parses JSON, charged by the cost of the parsed value, counted before parsing. Errors: as
   * `parseJson`.
   */
  async readJson(reservation: BodyReservation, request: BodyReadRequest): Promise<unknown> {
    const { exchange, limits: bounds, yieldToEventLoop } = request;
    const declared = exchange.body.declaredBytes;
    // Every level and every value takes at least one byte, so a short text is within all bounds.
    const isShort = declared !== null && declared <= limits.jsonUncheckedBytesMax;
    if (isShort) {
      const text = await this.readBytes(reservation, request);
      await yieldIfNeeded(yieldToEventLoop);
      return parseJson(text);
    }
    const bytes = await reservation.read(
      this.#openBody(exchange, bounds.bytesMax),
      createScanner(reservation, request),
    );
    await yieldIfNeeded(yieldToEventLoop);
    return parseJson(bytes);
  }

  /** Reads a body that another thread parses, charged in the same way. */
  async readParts(
    reservation: BodyReservation,
    request: BodyReadRequest,
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const bounded = this.#openBody(request.exchange, request.limits.bytesMax);
    const scan = createScanner(reservation, request);
    return await reservation.readParts(bounded, scan, request.yieldToEventLoop);
  }

  /** Errors: as `checkDeclaredBody`. */
  #openBody(exchange: Exchange, bytesMax: number): BoundedBody {
    checkDeclaredBody(exchange, bytesMax);
    const { bodyIdleMsMax: idleMsMax, requestMsMax: msMax, clock } = this.#options;
    const minimumThroughput = {
      bytesPerSecondMin: limits.bodyBytesPerSecondMin,
      windowMs: limits.bodyRateWindowMs,
      bytesMin: limits.bodyRateBytesMin,
    };
    return new BoundedBody(exchange, { bytesMax, idleMsMax, msMax, minimumThroughput }, clock);
  }
}

/** Charges the estimated cost of the parsed value while the body arrives. */
function createScanner(reservation: BodyReservation, { limits: bounds, yieldToEventLoop }: BodyReadRequest) {
  const scanner = new JsonScanner(bounds);
  let charged = 0;
  return async (chunk: Uint8Array): Promise<void> => {
    for (let i = 0; i < chunk.byteLength; i += scanBytesMax) {
      await yieldIfNeeded(yieldToEventLoop);
      scanner.push(chunk.subarray(i, i + scanBytesMax));
      reservation.charge(scanner.cost - charged);
      charged = scanner.cost;
    }
  };
}

/** The system delivers requests of many connections at once; yielding interleaves their units of work. */
async function yieldIfNeeded(yieldToEventLoop: YieldToEventLoop): Promise<void> {
  const pause = yieldToEventLoop();
  if (pause !== null) await pause;
}

/**
 * Estimates the bytes of memory of a parsed value. Lists of numbers are counted by length, not by element.
 */
export function estimateMemoryBytes(value: unknown): number {
  if (typeof value === 'string') return limits.jsonNodeBytes + value.length;
  if (typeof value !== 'object' || value === null) return limits.jsonNumberBytes;
  if (ArrayBuffer.isView(value)) return limits.jsonNodeBytes + value.byteLength;
  const isNumbers = Array.isArray(value) && typeof value[0] === 'number';
  if (isNumbers) return limits.jsonNodeBytes + value.length * limits.jsonNumberBytes;
  let cost: number = limits.jsonNodeBytes;
  for (const item of Object.values(value)) cost += estimateMemoryBytes(item);
  return cost;
}
