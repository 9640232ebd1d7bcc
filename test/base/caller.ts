import type { Caller } from '../../src/base/caller.ts';

/** Somebody who waits until `signal` is aborted; for ever without one. */
export function callerWith(signal = new AbortController().signal): Caller {
  return {
    get gone() {
      return signal.aborted;
    },
    signal,
    onGone(listener) {
      if (signal.aborted) listener();
      else signal.addEventListener('abort', () => listener(), { once: true });
    },
  };
}
