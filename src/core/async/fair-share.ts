/** One part in so many is kept in addition to the capacity, for those who hold little or nothing of it. */
const reserveShare = 8;

export interface FairShareRequest {
  /** What the organization that asks holds already. */
  readonly held: number;
  /** What all organizations hold together. */
  readonly used: number;
  readonly capacity: number;
  /** Organizations that hold something, including the one that asks. */
  readonly holders: number;
}

/**
 * Whether an organization gets one more unit of a bounded resource. Up to the capacity each one does. Of the reserve
 * beyond it every holder has an equal share, so that one organization cannot keep the others out, and an organization
 * that is alone gets the capacity and no more.
 */
export function hasFairShare({ held, used, capacity, holders }: FairShareRequest): boolean {
  if (used < capacity) return true;
  if (used >= capacity + holders + capacity / reserveShare) return false;
  return held < Math.max(1, Math.floor(capacity / (reserveShare * holders)));
}
