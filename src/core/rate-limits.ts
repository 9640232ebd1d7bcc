/** At most `max` attempts within any `ms` milliseconds. */
export interface WindowLimit {
  readonly ms: number;
  readonly max: number;
}

const [minuteMs, hourMs] = [60_000, 3_600_000];

/** Windows of all sliding-window limiters. `docs/reference/limits.md` lists them. */
export const rateLimits = {
  /** Each change adds an entry to the audit log, which is kept for a long time. */
  changes: [
    { ms: minuteMs, max: 240 },
    { ms: hourMs, max: 2_000 },
  ],
  accessRemovals: [
    { ms: minuteMs, max: 600 },
    { ms: hourMs, max: 6_000 },
  ],
  newOrganizations: [{ ms: hourMs, max: 20 }],
  /** Limits users who create many organizations, and could otherwise send unlimited invitations. */
  invitationsOfUser: [{ ms: hourMs, max: 60 }],
  invitationsOfOrganization: [{ ms: hourMs, max: 20 }],
  invitationsToAddress: [{ ms: minuteMs, max: 1 }],
  signInMails: [{ ms: hourMs, max: 20 }],
  providerSignIns: [{ ms: minuteMs, max: 30 }],
  passwordAttempts: [{ ms: hourMs, max: 120 }],
  /** A sign-in, and joining with a passkey, sends two requests. */
  passkeyRequests: [{ ms: hourMs, max: 240 }],
  oneTimeCodes: [{ ms: hourMs, max: 50 }],
  /** One sign-in ends after ten minutes at the latest. */
  codesOfSignIn: [{ ms: 10 * minuteMs, max: 5 }],
  promoCodes: [{ ms: hourMs, max: 10 }],
  promoCodesOfAddress: [{ ms: hourMs, max: 20 }],
  webhooks: [{ ms: minuteMs, max: 1_200 }],
  marketplaceSignUps: [{ ms: minuteMs, max: 30 }],
  /** SNS and Vercel resend messages that are rejected for now. */
  marketplaceMessages: [{ ms: minuteMs, max: 120 }],
} as const satisfies Readonly<Record<string, readonly WindowLimit[]>>;
