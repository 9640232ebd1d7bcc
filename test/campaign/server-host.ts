import type { ServerHost } from '../e2e/server.ts';
import type { PartContext } from './part.ts';

/** Adapts a part of the campaign to the owner of a server. */
export function serverHost(context: PartContext): ServerHost {
  return {
    teardown: (action: () => unknown) => context.onCleanup(action),
    passing: () => true,
    comment: () => undefined,
  } as ServerHost;
}
