/** Divisor of the capacity: 1/8 of it is reserved on top, for organizations that hold little or nothing. */
const reserveShare = 8;

export interface FairShareRequest {
  /** Units that the requesting organization already holds. */
  readonly held: number;
  /** Units held by all organizations together. */
  readonly used: number;
  readonly capacity: number;
  /** Number of organizations that hold at least one unit, including the requesting one. */
  readonly holders: number;
}

/**
 * Whether an organization may acquire one more unit of a bounded resource. Below the capacity, always. Every
 * holder has an equal share of the reserve beyond it, so that one organization cannot starve the others, and
 * a lone organization gets the capacity and no more.
 */
export function hasFairShare({ held, used, capacity, holders }: FairShareRequest): boolean {
  if (used < capacity) return true;
  if (used >= capacity + holders + capacity / reserveShare) return false;
  return held < Math.max(1, Math.floor(capacity / (reserveShare * holders)));
}
