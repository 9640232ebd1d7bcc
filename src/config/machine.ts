import { availableParallelism, totalmem } from 'node:os';
import type { Settings } from './schema.ts';

/** What defaults depend on. */
export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
}

type MachineSetting =
  | 'parseThreads'
  | 'chunkThreads'
  | 'embedThreads'
  | 'rerankThreads'
  | 'rerankedQueriesRunningMax'
  | 'searchThreads'
  | 'memoryBytesMax';

/** The cores and the memory this process may use; a container's limit counts where there is one. */
export function thisMachine(): Machine {
  const constrained = process.constrainedMemory();
  // Without a limit the answer is 0 or a number beyond any memory.
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { cores: availableParallelism(), memoryBytes };
}

/**
 * One query for each thread and one whose passages are read meanwhile. More of them share the same threads: 16 on one
 * thread took 8 times as long each as one alone, at the same throughput.
 */
export function rerankedQueriesFor(rerankThreads: number): number {
  return rerankThreads + 1;
}

/** Defaults of the settings that depend on the machine; each keeps the bounds of its schema. */
export function machineDefaults(machine: Machine): Pick<Settings, MachineSetting> {
  const share = (divisor: number, most: number) =>
    Math.min(most, Math.max(1, Math.floor(machine.cores / divisor)));
  const rerankThreads = share(4, 8);
  return {
    parseThreads: share(2, 8),
    chunkThreads: share(2, 16),
    embedThreads: share(2, 16),
    rerankThreads,
    rerankedQueriesRunningMax: rerankedQueriesFor(rerankThreads),
    searchThreads: share(1, 64),
    memoryBytesMax: Math.max(256_000_000, Math.floor(machine.memoryBytes * 0.8)),
  };
}
