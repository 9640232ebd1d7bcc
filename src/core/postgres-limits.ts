/** Bounds of the connection to PostgreSQL. */
export const postgresLimits = {
  connectMs: 5_000,
  /** A commit without a reply counts as lost after this time; its outcome is then determined. */
  replyMs: 30_000,
  /** Interval at which a node confirms, while it writes nothing, that it still owns its data. */
  checkMs: 1_000,
  /** Time limit of such a check. */
  checkReplyMs: 5_000,
  /** Approximate bytes per step of loading rows. */
  readBytes: 1_048_576,
  /** Commits whose deletions are kept. A cache that is further behind loads all rows. */
  keptCommits: 100_000,
  /** Commits whose deletions one check removes. */
  removedCommits: 256,
  /** Approximate bytes per commit of an import. */
  importBytes: 1_048_576,
} as const;
