import type { CancellationToken } from '../../src/core/async/cancellation-token.ts';

/** Token that is canceled when `signal` is aborted; never without a signal. */
export function cancellationTokenWith(signal = new AbortController().signal): CancellationToken {
  const listeners: (() => void)[] = [];
  // One listener of the signal for all: Node.js warns of more than 10.
  signal.addEventListener(
    'abort',
    () => {
      for (const listener of listeners) listener();
    },
    { once: true },
  );
  return {
    get isCanceled() {
      return signal.aborted;
    },
    signal,
    onCanceled(listener) {
      if (signal.aborted) listener();
      else listeners.push(listener);
    },
  };
}
