/** Limits of webhooks. */
export const webhookLimits = {
  perOrganizationMax: 16,
  urlUnitsMax: 2_048,
  descriptionUnitsMax: 256,
  /** Types, and names of collections, of a webhook. */
  filterEntriesMax: 64,
  /** Deliveries in progress, in total: each webhook has at most one. */
  runningMax: 64,
  /** Messages of an organization that wait to be sent. */
  waitingMax: 32,
  requestMsMax: 15_000,
  replyBytesMax: 65_536,
  retryMsMin: 1_000,
  retryMsMax: 3_600_000,
  /** Time of failures after which a webhook is disabled. */
  failingMsMax: 3 * 86_400_000,
  /** Deliveries kept in the list of a webhook. */
  deliveriesKept: 50,
  /** Time for which the previous secret signs, too. */
  secretOverlapMs: 86_400_000,
} as const;
