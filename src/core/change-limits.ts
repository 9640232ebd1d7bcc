/** Limits of the change feeds of organizations. */
export const changeLimits = {
  perReplyMax: 1_000,
  perReplyDefault: 100,
  /** Changes kept per organization. */
  retainedMax: 100_000,
  retentionMs: 7 * 86_400_000,
  /** Time without a read after which a feed is closed and its changes are deleted. */
  idleMs: 30 * 86_400_000,
  cursorUnitsMax: 512,
  waitSecondsMax: 30,
  /** Calls that wait for changes. */
  waitsRunningMax: 1_024,
  /** Event streams in total, and of one organization. */
  streamsRunningMax: 512,
  streamsPerOrganizationMax: 16,
  /** Time after which a stream ends; clients reconnect automatically. */
  streamMsMax: 3_600_000,
} as const;
