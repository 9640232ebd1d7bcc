/**
 * Reports whether a result is still wanted. Canceled when the client disconnects or the deadline of the call
 * expires.
 */
export interface CancellationToken {
  readonly isCanceled: boolean;
  /** Aborted when `isCanceled` becomes true. Created on first access, which is not cheap. */
  readonly signal: AbortSignal;
  /**
   * Calls `listener` once when `isCanceled` becomes true, immediately if it already is. For work so short
   * that a signal costs more.
   */
  onCanceled(listener: () => void): void;
}
