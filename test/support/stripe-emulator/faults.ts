/** Fault injected into one request. */
export type FaultKind =
  /** No fault: the request is handled normally. */
  | 'none'
  /** 500; the operation does not run. */
  | 'error-before'
  /** The operation runs, but the reply is a 500; a retry with the same key gets the true reply. */
  | 'error-after'
  /** The operation runs, and a 500 is stored as the reply of its idempotency key. */
  | 'error-remembered'
  /** The connection breaks before the operation runs. */
  | 'lost-before'
  /** The operation runs, and the connection breaks instead of a reply. */
  | 'lost-after'
  /** 429; the operation does not run. */
  | 'too-many'
  /** 403, the API key lacks the permission; the operation does not run. */
  | 'forbidden'
  /** No reply is ever sent; the operation does not run. */
  | 'no-reply-before'
  /** The operation runs, but no reply is ever sent. */
  | 'no-reply-after'
  /** The operation runs; the reply is held until `releaseReplies`. */
  | 'late-after';

export interface Fault {
  readonly kind: FaultKind;
  /** Operations to which the fault applies, by SDK file and method: `Subscriptions.create`; all if absent. */
  readonly operation?: RegExp;
  /** Text, such as an id, that the path or the body must contain for the fault to apply. */
  readonly text?: string;
  /** Number of requests that fail; 1 if absent. */
  readonly times?: number;
}

/** Queue of faults that have not occurred yet. */
export class FaultInjector {
  readonly #pending: { readonly fault: Fault; remaining: number }[] = [];
  readonly #heldReplies: (() => void)[] = [];

  add(fault: Fault): void {
    this.#pending.push({ fault, remaining: fault.times ?? 1 });
  }

  /** Whether all faults added for this operation and text have occurred as many times as configured. */
  hasOccurred({ operation, text }: Pick<Fault, 'operation' | 'text'>): boolean {
    const matching = this.#pending.filter(
      ({ fault }) => fault.operation === operation && fault.text === text,
    );
    return matching.length > 0 && matching.every(({ remaining: left }) => left === 0);
  }

  holdReply(answer: () => void): void {
    this.#heldReplies.push(answer);
  }

  /** Sends all held replies. */
  releaseReplies(): void {
    for (const answer of this.#heldReplies.splice(0)) answer();
  }

  clear(): void {
    this.#pending.length = 0;
  }

  /** Removes and returns the fault of a request that is about to run; null if none applies. */
  takeFault(operation: string, text: string): FaultKind | null {
    const found = this.#pending.find(
      ({ fault, remaining: left }) =>
        left > 0 &&
        (fault.operation === undefined || fault.operation.test(operation)) &&
        (fault.text === undefined || text.includes(fault.text)),
    );
    if (found === undefined) return null;
    found.remaining -= 1;
    return found.fault.kind;
  }
}
