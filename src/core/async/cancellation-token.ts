/** Who waits for an answer, or does not any more: the client left, or the time of the call is up. */
export interface CancellationToken {
  readonly isCanceled: boolean;
  /** Aborted when `gone` becomes true. It is made when somebody asks for it, which is not cheap. */
  readonly signal: AbortSignal;
  /** Calls `listener` once when `gone` becomes true, at once when it is: for work so short that a signal costs more. */
  onCanceled(listener: () => void): void;
}
