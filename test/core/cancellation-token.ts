import type { CancellationToken } from '../../src/core/async/cancellation-token.ts';

/** Token that is canceled when `signal` is aborted; never without a signal. */
export function cancellationTokenWith(signal = new AbortController().signal): CancellationToken {
  return {
    get isCanceled() {
      return signal.aborted;
    },
    signal,
    onCanceled(listener) {
      if (signal.aborted) listener();
      else signal.addEventListener('abort', () => listener(), { once: true });
    },
  };
}
