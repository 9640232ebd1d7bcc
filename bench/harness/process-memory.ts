import { readFileSync } from 'node:fs';
import { platform } from 'node:os';

/** Resident memory of a process. */
export interface ProcessMemory {
  /** Private and shared anonymous memory: must stay in RAM or be swapped. */
  readonly ownBytes: number;
  /** Pages of mapped files: the system may evict and reload them. */
  readonly mappedBytes: number;
}

/**
 * Returns the current memory; null if the system does not report it (only Linux does). Errors: throws if the
 * process does not exist.
 */
export function memoryOf(pid: number): ProcessMemory | null {
  if (platform() !== 'linux') return null;
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
  return { ownBytes: bytes('RssAnon') + bytes('RssShmem'), mappedBytes: bytes('RssFile') };
}

/**
 * Returns the peak resident memory of a process in bytes; null if the system does not report it, or if the
 * process has exited.
 */
export function peakBytesOf(pid: number): number | null {
  if (platform() !== 'linux') return null;
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    // Exited after it was listed.
    return null;
  }
}
