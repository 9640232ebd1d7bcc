import { effect } from '@preact/signals';
import { isReachable, returns } from './call.ts';

const firstWaitMs = 1_000;
const longestWaitMs = 10_000;

/** While the server does not answer, asks it again and again, ever less often, and at once when the network is back. */
export function watchReachability(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = firstWaitMs;

  const ask = async () => {
    clearTimeout(timer);
    if (isReachable.peek()) return;
    if (await isUp()) {
      waitMs = firstWaitMs;
      isReachable.value = true;
      returns.value += 1;
      return;
    }
    waitMs = Math.min(waitMs * 2, longestWaitMs);
    timer = setTimeout(() => void ask(), waitMs);
  };

  window.addEventListener('online', () => void ask());
  window.addEventListener('offline', () => {
    isReachable.value = false;
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void ask();
  });
  effect(() => {
    if (isReachable.value) return;
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), firstWaitMs);
  });
}

/** Resolves when the server answers again. */
export function nextReturn(): Promise<void> {
  const before = returns.peek();
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (returns.value === before) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

async function isUp(): Promise<boolean> {
  try {
    return (await fetch('/readyz', { cache: 'no-store' })).ok;
  } catch {
    return false; // no answer: exactly what was asked
  }
}
