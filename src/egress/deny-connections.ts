import { Egress } from './egress.ts';
import { guardSockets } from './guard-sockets.ts';

/** For worker threads and child processes, which never connect: the main thread connects on their behalf. */
export function denyConnections(): void {
  guardSockets(new Egress({ mode: 'none', hosts: [] }));
}
