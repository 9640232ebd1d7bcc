import { effect } from '@preact/signals';
import { isReachable, reconnectCount } from './api-call.ts';

const firstWaitMs = 1_000;
const waitMsMax = 10_000;

/**
 * While the server is unreachable, probes it with increasing intervals, and at once when the network is online again.
 */
export function watchReachability(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = firstWaitMs;

  const probe = async () => {
    clearTimeout(timer);
    if (isReachable.peek()) return;
    if (await isServerUp()) {
      waitMs = firstWaitMs;
      isReachable.value = true;
      reconnectCount.value += 1;
      return;
    }
    waitMs = Math.min(waitMs * 2, waitMsMax);
    timer = setTimeout(() => void probe(), waitMs);
  };

  window.addEventListener('online', () => void probe());
  window.addEventListener('offline', () => {
    isReachable.value = false;
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void probe();
  });
  effect(() => {
    if (isReachable.value) return;
    clearTimeout(timer);
    timer = setTimeout(() => void probe(), firstWaitMs);
  });
}

/** Resolves when the server is reachable again. */
export function waitForReconnect(): Promise<void> {
  const before = reconnectCount.peek();
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (reconnectCount.value === before) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

async function isServerUp(): Promise<boolean> {
  try {
    return (await fetch('/readyz', { cache: 'no-store' })).ok;
  } catch {
    return false; // no reply: still unreachable
  }
}
