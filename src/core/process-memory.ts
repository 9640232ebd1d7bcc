import { readFileSync } from 'node:fs';

export interface MemorySources {
  /** What the kernel says of this process, as in proc(5) `/proc/self/status`; throws where there is no such file. */
  readonly kernelStatus: () => string;
  readonly residentBytes: () => number;
}

const systemSources: MemorySources = {
  kernelStatus: () => readFileSync('/proc/self/status', 'latin1'),
  residentBytes: () => process.memoryUsage.rss(),
};

/**
 * How many bytes the process holds: what no file backs, in memory or swapped out. Pages that the system reads from
 * files (the vectors of snapshots, programs) do not count, as it drops them when it needs the room. Where the system
 * does not tell them apart, all resident bytes.
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
