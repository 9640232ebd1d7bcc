import { getPriority, platform, setPriority } from 'node:os';

/**
 * Lets a thread of this process step back for others, as nice(1) counts; by default the calling one. Where the system does
 * not allow it, the work goes on as urgent as it is, and what steps back further already stays so.
 */
export function setNiceness(niceness: number, thread = 0): void {
  // There the number is that of a thread; elsewhere it would be the whole server's.
  if (platform() !== 'linux') return;
  try {
    if (getPriority(thread) < niceness) setPriority(thread, niceness);
  } catch (error) {
    const { info } = error as { readonly info?: { readonly code: string } };
    // ESRCH: the thread has ended.
    if (info === undefined || !['EACCES', 'EPERM', 'ESRCH'].includes(info.code)) throw error;
  }
}
