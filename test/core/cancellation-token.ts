import type { CancellationToken } from '../../src/core/async/cancellation-token.ts';

/** Somebody who waits until `signal` is aborted; for ever without one. */
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
