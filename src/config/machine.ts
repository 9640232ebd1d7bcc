import { availableParallelism, totalmem } from 'node:os';
import type { Settings } from './schema.ts';

/** Machine properties that defaults depend on. */
export interface MachineResources {
  readonly cores: number;
  readonly memoryBytes: number;
}

type MachineDependentSetting =
  | 'parseThreads'
  | 'chunkThreads'
  | 'embedThreads'
  | 'rerankThreads'
  | 'rerankedQueriesRunningMax'
  | 'searchThreads'
  | 'memoryBytesMax';

/** Detects the cores and the memory that this process may use; a container limit applies if there is one. */
export function detectMachine(): MachineResources {
  const constrained = process.constrainedMemory();
  // Without a limit the value is 0 or larger than the total memory.
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { cores: availableParallelism(), memoryBytes };
}

/**
 * One query per thread, plus one that reads its candidate texts meanwhile. More queries share the same
 * threads: 16 queries on one thread took 8 times as long each as a single query, at the same throughput.
 */
export function rerankedQueriesDefault(rerankThreads: number): number {
  return rerankThreads + 1;
}

/** Returns defaults of the settings that depend on the machine; each respects the bounds in the schema. */
export function machineDefaults(resources: MachineResources): Pick<Settings, MachineDependentSetting> {
  const share = (divisor: number, threadsMax: number) =>
    Math.min(threadsMax, Math.max(1, Math.floor(resources.cores / divisor)));
  const rerankThreads = share(4, 8);
  return {
    parseThreads: share(2, 8),
    chunkThreads: share(2, 16),
    embedThreads: share(2, 16),
    rerankThreads,
    rerankedQueriesRunningMax: rerankedQueriesDefault(rerankThreads),
    searchThreads: share(1, 64),
    memoryBytesMax: Math.max(256_000_000, Math.floor(resources.memoryBytes * 0.8)),
  };
}
