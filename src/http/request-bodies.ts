import type { BodyLimits } from '../admission/body-limits.ts';
import { SharedBudget } from '../admission/shared-budget.ts';
import type { Clock } from '../base/clock.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import { limits } from '../base/limits.ts';
import type { Exchange } from './exchange.ts';
import { parseJson } from './json-body.ts';
import { JsonScanner } from './json-scanner.ts';
import { BoundedBody, type HeldBody, WholeBody } from './read-body.ts';

export interface RequestBodiesOptions {
  /** Memory of all request bodies that are read whole, in bytes. */
  readonly bytesHeldMax: number;
  readonly bodyIdleMsMax: number;
  readonly requestMsMax: number;
  readonly clock: Clock;
}

/** Bytes of JSON that are scanned between two checks of the time: about 0.1 ms. */
const scanBytesMax = 16_384;

export interface BodyRequest {
  readonly exchange: Exchange;
  readonly limits: BodyLimits;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Reads request bodies whole, inside the limits of their operation and the share of their owner. */
export class RequestBodies {
  readonly #options: RequestBodiesOptions;
  readonly #budget: SharedBudget;

  constructor(options: RequestBodiesOptions) {
    this.#options = options;
    this.#budget = new SharedBudget(options.bytesHeldMax);
  }

  /** Memory that they are charged for now. */
  get bytes(): number {
    return this.#budget.used;
  }

  /** What one request of `owner` (an organization, a person or an address) holds until its `release`. */
  hold(owner: string): HeldBody {
    return new WholeBody(this.#budget, owner);
  }

  async readBytes(held: HeldBody, { exchange, limits: { bytesMax } }: BodyRequest): Promise<Buffer> {
    return await held.read(this.#bounded(exchange, bytesMax));
  }

  /** Charged by the cost of the parsed value, which is counted before it is parsed. Errors: as `parseJson`. */
  async readJson(held: HeldBody, request: BodyRequest): Promise<unknown> {
    const { exchange, limits: bounds, yieldToEventLoop } = request;
    const declared = exchange.body.declaredBytes;
    // Every level and every value takes a byte at least, so a short text is within all bounds.
    const isShort = declared !== null && declared <= limits.jsonUncheckedBytesMax;
    if (isShort) {
      const text = await this.readBytes(held, request);
      await yielded(yieldToEventLoop);
      return parseJson(text);
    }
    const bytes = await held.read(this.#bounded(exchange, bounds.bytesMax), scannerOf(held, request));
    await yielded(yieldToEventLoop);
    return parseJson(bytes);
  }

  /** A body that another thread parses, charged in the same way. */
  async readParts(held: HeldBody, request: BodyRequest): Promise<Uint8Array<ArrayBuffer>[]> {
    const bounded = this.#bounded(request.exchange, request.limits.bytesMax);
    return await held.readParts(bounded, scannerOf(held, request));
  }

  #bounded(exchange: Exchange, bytesMax: number): BoundedBody {
    const { bodyIdleMsMax: idleMsMax, requestMsMax: msMax, clock } = this.#options;
    const pace = {
      bytesPerSecondMin: limits.bodyBytesPerSecondMin,
      windowMs: limits.bodyPaceMs,
      bytesMin: limits.bodyPaceBytesMin,
    };
    return new BoundedBody(exchange, { bytesMax, idleMsMax, msMax, pace }, clock);
  }
}

/** Charges what the parsed value of a body will take while the body arrives. */
function scannerOf(held: HeldBody, { limits: bounds, yieldToEventLoop }: BodyRequest) {
  const scanner = new JsonScanner(bounds);
  let charged = 0;
  return async (chunk: Uint8Array): Promise<void> => {
    for (let i = 0; i < chunk.byteLength; i += scanBytesMax) {
      await yielded(yieldToEventLoop);
      scanner.push(chunk.subarray(i, i + scanBytesMax));
      held.charge(scanner.cost - charged);
      charged = scanner.cost;
    }
  };
}

/** The system hands in the requests of many connections at one time; one unit of work at a time is done for each. */
async function yielded(yieldToEventLoop: YieldToEventLoop): Promise<void> {
  const turn = yieldToEventLoop();
  if (turn !== null) await turn;
}

/** About how much memory a parsed value takes. Lists of numbers are not looked through. */
export function costOf(value: unknown): number {
  if (typeof value === 'string') return limits.jsonNodeBytes + value.length;
  if (typeof value !== 'object' || value === null) return limits.jsonNumberBytes;
  if (ArrayBuffer.isView(value)) return limits.jsonNodeBytes + value.byteLength;
  const isNumbers = Array.isArray(value) && typeof value[0] === 'number';
  if (isNumbers) return limits.jsonNodeBytes + value.length * limits.jsonNumberBytes;
  let cost: number = limits.jsonNodeBytes;
  for (const item of Object.values(value)) cost += costOf(item);
  return cost;
}
