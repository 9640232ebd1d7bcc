import { getPriority, platform, setPriority } from 'node:os';

/**
 * Raises the niceness of a thread of this process, in units of nice(1); by default of the calling thread.
 * Never lowers it. Where the system does not permit the change, the niceness stays unchanged.
 */
export function setNiceness(niceness: number, thread = 0): void {
  // On Linux the id is that of a thread; elsewhere the call would affect the whole process.
  if (platform() !== 'linux') return;
  try {
    if (getPriority(thread) < niceness) setPriority(thread, niceness);
  } catch (error) {
    const { info } = error as { readonly info?: { readonly code: string } };
    // ESRCH: the thread has ended.
    if (info === undefined || !['EACCES', 'EPERM', 'ESRCH'].includes(info.code)) throw error;
  }
}
