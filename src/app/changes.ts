import { WaitLimiter } from '../admission/wait-limiter.ts';
import { changeLimits } from '../core/change-limits.ts';
import { Sealer } from '../core/sealer.ts';
import type { MaintenanceTask } from '../ingest/maintenance.ts';
import { ChangeSignal } from '../services/change-signal.ts';
import { ChangeServices } from '../services/changes.ts';
import type { ChangeFeeds } from '../storage/change-feeds.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import { clock, random } from './runtime.ts';
import type { Storage } from './storage.ts';

/** Components of the change feeds. */

/** Milliseconds between runs: the longest time for which a feed exceeds its bounds. */
const trimMs = 60_000;

export function createChangeServices(
  { secrets }: Pick<DataDirectory, 'secrets'>,
  { feeds, collections }: Pick<Storage, 'feeds' | 'collections'>,
): ChangeServices {
  return new ChangeServices({
    feeds,
    collections,
    signal: new ChangeSignal(feeds),
    sealer: new Sealer(deriveSecrets(secrets, 'changes'), random),
    clock,
    waits: new WaitLimiter(changeLimits.waitsRunningMax),
    streams: new WaitLimiter(changeLimits.streamsRunningMax),
  });
}

/** Returns the task that deletes old changes and unused feeds. */
export function createChangeTrimTask(feeds: ChangeFeeds): MaintenanceTask {
  return {
    name: 'old changes',
    intervalMs: trimMs,
    run: async (signal) => {
      for (const organizationId of await feeds.listOrganizations()) {
        if (signal.aborted) return;
        if (await feeds.deleteIdle(organizationId, clock.now())) continue;
        await feeds.trim(organizationId, clock.now(), signal);
      }
    },
  };
}
