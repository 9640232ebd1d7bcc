/** Limits of webhooks. */
export const webhookLimits = {
  perOrganizationMax: 16,
  urlUnitsMax: 2_048,
  descriptionUnitsMax: 256,
  /** Types of a webhook, and names of its collections. */
  filterEntriesMax: 64,
  /** Deliveries in progress, in total: each webhook has at most one. */
  runningMax: 64,
  /** Messages of an organization that wait to be sent. */
  waitingMax: 32,
  requestMsMax: 15_000,
  replyBytesMax: 65_536,
  retryMsMin: 1_000,
  retryMsMax: 3_600_000,
  /** Duration of failures after which a webhook is disabled. */
  failingMsMax: 3 * 86_400_000,
  /** Deliveries kept in the list of a webhook. */
  deliveriesKept: 50,
  /** Time for which messages are also signed with the previous secret. */
  secretOverlapMs: 86_400_000,
} as const;
