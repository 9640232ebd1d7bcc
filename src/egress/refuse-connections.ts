import { Egress } from './egress.ts';
import { guardSockets } from './guard-sockets.ts';

/** For worker threads and forked processes, none of which connects anywhere: the main thread does that for them. */
export function refuseConnections(): void {
  guardSockets(new Egress({ mode: 'none', hosts: [] }));
}
