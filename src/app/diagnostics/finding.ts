export type FindingState = 'ok' | 'warning' | 'failed' | 'skipped';

/** Result of one check. */
export interface Finding {
  /** Short name: "disk", "clock". */
  readonly check: string;
  readonly state: FindingState;
  /** Result of the check, in words. */
  readonly detail: string;
  /** Action to take; null if none is needed. */
  readonly advice: string | null;
}

export function ok(check: string, detail: string): Finding {
  return { check, state: 'ok', detail, advice: null };
}

export function warning(check: string, detail: string, advice: string): Finding {
  return { check, state: 'warning', detail, advice };
}

export function failed(check: string, detail: string, advice: string): Finding {
  return { check, state: 'failed', detail, advice };
}

export function skipped(check: string, detail: string, advice: string | null = null): Finding {
  return { check, state: 'skipped', detail, advice };
}
