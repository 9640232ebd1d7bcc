import { readdirSync, readlinkSync } from 'node:fs';
import { sep } from 'node:path';

/**
 * Kills a process and all processes of its group, which has the same id. Includes children that outlive their
 * parent: a launcher killed while it clones leaves a child that waits for it forever.
 */
export function killProcessGroup(pid: number): void {
  killIfRunning(-pid);
}

/**
 * Kills the processes whose working directory is inside a folder, and thus those that a killed server left
 * there. Does nothing without /proc.
 */
export function killProcessesIn(folder: string): void {
  for (const pid of listProcesses()) {
    if (hasWorkingDirectoryIn(folder, pid)) killIfRunning(pid);
  }
}

function hasWorkingDirectoryIn(folder: string, pid: number): boolean {
  try {
    return `${readlinkSync(`/proc/${pid}/cwd`)}${sep}`.startsWith(folder + sep);
  } catch {
    return false; // the process has ended or belongs to another user
  }
}

function listProcesses(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** `pid` is the id of a process, or the negative id of a process group. */
function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')))
      throw error;
  }
}
