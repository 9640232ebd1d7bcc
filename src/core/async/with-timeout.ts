import { setMaxListeners } from 'node:events';

/**
 * Runs `work` with a signal that aborts when `signal` does, or after `msMax` milliseconds. Resolves and
 * rejects as `work` does; afterwards neither timer nor listener is left. Any number of listeners may be
 * attached to the signal.
 *
 * Not `AbortSignal.any([signal, AbortSignal.timeout(msMax)])`: in Node 20 the garbage collector frees the
 * second signal, and its timeout never fires.
 */
export async function withTimeout<T>(
  { signal, msMax }: { readonly signal: AbortSignal; readonly msMax: number },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abort = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new Error(`no reply within ${msMax} ms`)), msMax);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
