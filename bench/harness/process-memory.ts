import { readFileSync } from 'node:fs';
import { platform } from 'node:os';

/** Memory of a process that lies in RAM now. */
export interface ProcessMemory {
  /** Its own: it has to stay in RAM or be swapped. */
  readonly ownBytes: number;
  /** Of mapped files: the system may drop it and read it again. */
  readonly mappedBytes: number;
}

/** Null where the system does not tell (only Linux does). Throws when the process is gone. */
export function memoryOf(pid: number): ProcessMemory | null {
  if (platform() !== 'linux') return null;
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
  return { ownBytes: bytes('RssAnon') + bytes('RssShmem'), mappedBytes: bytes('RssFile') };
}

/** The most bytes of RAM that a process ever used; null where the system does not tell, or when it is gone. */
export function peakBytesOf(pid: number): number | null {
  if (platform() !== 'linux') return null;
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    // It ended between the list of processes and this look at it.
    return null;
  }
}
