import { readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';

/** Milliseconds per clock tick of Linux's /proc (USER_HZ), equal on every architecture. */
const tickMs = 10;

/**
 * Milliseconds of CPU that all threads of a process have used, user and system, in steps of 10; null if the
 * system does not report it (only Linux does). Errors: throws if the process does not exist.
 */
export function cpuMsOf(pid: number): number | null {
  return platform() === 'linux' ? readTicks(`/proc/${pid}/stat`) * tickMs : null;
}

/** Returns user and system time of a stat file, in clock ticks: fields 14 and 15 of proc(5). */
function readTicks(path: string): number {
  const fields = readStatFields(path);
  return Number(fields[11]) + Number(fields[12]);
}

/** Returns the fields of a stat file from the third on. The second, the program name, may contain any character. */
function readStatFields(path: string): string[] {
  const stat = readFileSync(path, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Same for one thread, in steps of 10. Errors: throws if the thread does not exist. */
export function threadCpuMs(pid: number, thread: number): number | null {
  return platform() === 'linux' ? readTicks(`/proc/${pid}/task/${thread}/stat`) * tickMs : null;
}

/** Milliseconds of CPU that all threads of this process have used, user and system. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Milliseconds of CPU that child processes have used: exited ones in steps of 10, and the living ones given
 * by id to the microsecond; null if the system does not report it. Only differences are meaningful.
 */
export function childrenCpuMs(living: readonly number[]): number | null {
  if (platform() !== 'linux') return null;
  const fields = readStatFields('/proc/self/stat');
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
    // Exited in the meantime: its CPU time counts among the exited children.
    return 0;
  }
}
