import { readFileSync } from 'node:fs';

export interface MemorySources {
  /** Reads `/proc/self/status` as in proc(5); throws where the file does not exist. */
  readonly kernelStatus: () => string;
  readonly residentBytes: () => number;
}

const systemSources: MemorySources = {
  kernelStatus: () => readFileSync('/proc/self/status', 'latin1'),
  residentBytes: () => process.memoryUsage.rss(),
};

/**
 * Returns the bytes of anonymous process memory, resident or swapped out. File-backed pages (vectors
 * of snapshots, programs) do not count, because the system evicts them under memory pressure. Where the
 * system does not distinguish them, returns all resident bytes.
 */
export function readProcessMemoryBytes({
  kernelStatus,
  residentBytes,
}: MemorySources = systemSources): number {
  let status: string;
  try {
    status = kernelStatus();
  } catch {
    // Not Linux.
    return residentBytes();
  }
  const kilobytes = ['RssAnon', 'RssShmem', 'VmSwap'].map((name) =>
    new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status),
  );
  if (kilobytes.some((match) => match === null)) return residentBytes();
  return kilobytes.reduce((sum, match) => sum + Number(match?.[1]) * 1_024, 0);
}
