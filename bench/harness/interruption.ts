import { setTimeout as sleep } from 'node:timers/promises';

/** A terminal signals all processes of the bench at once; a child may report its end before the bench does. */
const signalDelayMs = 100;

/** Whether a failure is a consequence of the interruption of the run. */
export async function isInterrupted(signal: AbortSignal): Promise<boolean> {
  if (!signal.aborted) await sleep(signalDelayMs);
  return signal.aborted;
}
