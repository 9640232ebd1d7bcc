import { readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';

/** Linux counts in hundredths of a second here on every architecture (USER_HZ). */
const tickMs = 10;

/**
 * Milliseconds of CPU that all threads of a process used so far, user and system, in steps of 10; null where the
 * system does not tell (only Linux does). Throws when the process is gone.
 */
export function cpuMsOf(pid: number): number | null {
  if (platform() !== 'linux') return null;
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name of the program stands in parentheses and may hold anything; fields 14 and 15 are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Milliseconds of CPU that this process used so far, all its threads, user and system. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Milliseconds of CPU that processes started from this one used so far: those that ended, in steps of 10, and the living
 * ones of these ids to the microsecond. Null where the system does not tell. Only differences mean anything.
 */
export function childrenCpuMs(living: readonly number[]): number | null {
  if (platform() !== 'linux') return null;
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ended = (Number(fields[13]) + Number(fields[14])) * tickMs;
  return living.reduce((sum, pid) => sum + threadsCpuMs(pid), ended);
}

function threadsCpuMs(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]),
    );
    return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
  } catch {
    // It ended meanwhile: what it used counts among those that ended.
    return 0;
  }
}
