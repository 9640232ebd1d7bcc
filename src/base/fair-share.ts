/** What is kept beyond a full house, for those who have little or nothing in it. */
const keptShare = 8;

/**
 * Whether somebody with `mine` of `taken` places gets one more, where there are `most`. While there is room, anybody
 * does. Of what is kept beyond it each of `holders` (those who have a place, and who asks) has an equal share, so that
 * nobody's crowd keeps others out, and an only guest has all the room there is and no more.
 */
export function mayTakeOne({
  mine,
  taken,
  most,
  holders,
}: {
  readonly mine: number;
  readonly taken: number;
  readonly most: number;
  readonly holders: number;
}): boolean {
  if (taken < most) return true;
  if (taken >= most + holders + most / keptShare) return false;
  return mine < Math.max(1, Math.floor(most / (keptShare * holders)));
}
