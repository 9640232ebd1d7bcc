import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import { OverloadDetector } from '../admission/overload-detector.ts';
import type { Settings } from '../config/schema.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { limits } from '../core/limits.ts';
import type { Pipeline } from './pipeline.ts';
import { clock } from './runtime.ts';

/** Creates the semaphores of queries; see `QueryServicesOptions`. */
export function createQuerySemaphores(
  { queriesRunningMax, rerankedQueriesRunningMax, rerankThreads }: Settings,
  { catalog }: Pipeline,
): (reranker: string | null) => FairSemaphore {
  const createSemaphore = (permits: number, permitsInOverload = permits) =>
    createOrganizationSemaphore({
      permits,
      permitsInOverload,
      waitingMax: limits.queriesWaitingMax,
      noun: 'queries',
      overload: new OverloadDetector(clock),
    });
  const plain = createSemaphore(queriesRunningMax);
  // More queries than threads increase the throughput, but each then takes longer. In an overload, the latency of those that
  // are accepted matters more.
  const reranked = createSemaphore(
    rerankedQueriesRunningMax,
    Math.min(rerankedQueriesRunningMax, rerankThreads),
  );
  const serviceReranked = createSemaphore(
    Math.max(limits.serviceRerankedQueriesMax, rerankedQueriesRunningMax),
  );
  return (reranker) => {
    if (reranker === null) return plain;
    const { backend: runs } = catalog.getReranker(reranker);
    return runs !== 'built-in' && 'provider' in runs ? serviceReranked : reranked;
  };
}
