import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOf } from '../../bench/harness/process-memory.ts';
import { descendantsOf } from '../crash/child-processes.ts';
import type { PartContext } from './part.ts';

/** Current resource usage of a process. */
export interface ProcessMetrics {
  readonly memoryBytes: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly processesBelow: number;
}

/** Null on systems other than Linux. */
export function readProcessMetrics(pid: number): ProcessMetrics | null {
  const memory = memoryOf(pid);
  if (memory === null) return null;
  const entries = (name: string) => readdirSync(join('/proc', String(pid), name)).length;
  return {
    memoryBytes: memory.ownBytes,
    descriptors: entries('fd'),
    threads: entries('task'),
    processesBelow: descendantsOf(pid).length,
  };
}

const memorySampleMs = 100;

/**
 * Samples the memory of a process. The returned function stops sampling and returns the peak; 0 if unknown. It reads
 * no other metrics: listing thousands of descriptors and all processes would delay the requests that are measured.
 */
export function samplePeakMemory(context: PartContext, pid: number): () => number {
  let peak = 0;
  const sample = () => {
    const memory = context.signal.aborted ? null : memoryOf(pid);
    peak = Math.max(peak, memory?.ownBytes ?? 0);
  };
  sample();
  const timer = setInterval(sample, memorySampleMs);
  context.onCleanup(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return peak;
  };
}

/** Disk space used by the files below a folder; tolerates concurrent creation and deletion. */
export function folderBytes(folder: string): number {
  try {
    return readdirSync(folder).reduce((sum, name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) return sum;
      // Counts allocated blocks, so that sparse files count only what they use.
      return sum + (found.isDirectory() ? folderBytes(path) : found.blocks * 512);
    }, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Value of one sample of /metrics; null if absent. */
export async function readMetric(url: string, name: string, label = ''): Promise<number | null> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name}${label}`));
  return line === undefined ? null : Number(line.split(' ').at(-1));
}
