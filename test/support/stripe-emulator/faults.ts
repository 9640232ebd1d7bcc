/** What goes wrong with one request. */
export type FaultKind =
  /** Nothing: the request that it befalls is as all others. */
  | 'none'
  /** 500 without anything having been done. */
  | 'error-before'
  /** It was done, but the answer is a 500; asked again with the same key, the true answer comes. */
  | 'error-after'
  /** It was done, and Stripe remembers a 500 for the key. */
  | 'error-remembered'
  /** The connection breaks before anything was done. */
  | 'lost-before'
  /** It was done, and the connection breaks instead of an answer. */
  | 'lost-after'
  /** 429, nothing done. */
  | 'too-many'
  /** 403, nothing done: the key may not do this. */
  | 'forbidden'
  /** No answer ever comes: nothing was done. */
  | 'silence-before'
  /** It was done, and no answer ever comes. */
  | 'silence-after'
  /** It was done, and the answer comes when the test lets it. */
  | 'late-after';

export interface Fault {
  readonly kind: FaultKind;
  /** The operations it befalls, by the SDK's file and method: `Subscriptions.create`; all when absent. */
  readonly operation?: RegExp;
  /** What stands in the request, path or body, where it befalls only some: an id. */
  readonly text?: string;
  /** How often; once when absent. */
  readonly times?: number;
}

/** The faults that are still to happen. */
export class FaultInjector {
  readonly #pending: { readonly fault: Fault; remaining: number }[] = [];
  readonly #heldReplies: (() => void)[] = [];

  add(fault: Fault): void {
    this.#pending.push({ fault, remaining: fault.times ?? 1 });
  }

  /** Whether a fault that was added for this has happened as often as it should. */
  hasOccurred({ operation, text }: Pick<Fault, 'operation' | 'text'>): boolean {
    const matching = this.#pending.filter(
      ({ fault }) => fault.operation === operation && fault.text === text,
    );
    return matching.length > 0 && matching.every(({ remaining: left }) => left === 0);
  }

  holdReply(answer: () => void): void {
    this.#heldReplies.push(answer);
  }

  /** Lets every answer go that is late. */
  releaseReplies(): void {
    for (const answer of this.#heldReplies.splice(0)) answer();
  }

  clear(): void {
    this.#pending.length = 0;
  }

  /** The fault of a request that is about to be worked on. */
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
