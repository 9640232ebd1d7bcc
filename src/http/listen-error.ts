import { createServer } from 'node:net';
import { AppError } from '../core/app-error.ts';

/** Address that a server listens on. */
export interface ListenAddress {
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** Whether it is the public address or the address of metrics. */
  readonly name: ListenerName;
  /** Descriptor of a listening socket to use instead of host and port; null or absent: none. */
  readonly descriptor?: number | null;
}

/**
 * `public`: the address of the API and the dashboard. `metrics`: the address of metrics and probes, which need no
 * credential there.
 */
export type ListenerName = 'public' | 'metrics';

/** Returns the error for an address that cannot be bound; the message is for the operator. */
export function listenError(address: ListenAddress, cause: NodeJS.ErrnoException): AppError {
  const { host, port } = address;
  return new AppError('unavailable', `Cannot listen on ${host}:${port}: ${explain(address, cause)}`, {
    cause,
  });
}

function explain({ port, name }: ListenAddress, { code, message }: NodeJS.ErrnoException): string {
  const isPublic = name === 'public';
  const portSetting = isPublic ? '--port or QUARRY_PORT' : 'QUARRY_METRICS_LISTEN';
  const hostSetting = isPublic ? '--host or QUARRY_HOST' : 'QUARRY_METRICS_LISTEN';
  switch (code) {
    case 'EADDRINUSE':
      return `the port is in use by another process (EADDRINUSE). Stop that process (\`lsof -i :${port}\` shows it), or choose another port with ${portSetting}.`;
    case 'EADDRNOTAVAIL':
      return `this machine does not have this address (EADDRNOTAVAIL). Choose another address with ${hostSetting}.`;
    case 'EACCES':
      return `the user of the server is not allowed to use this port (EACCES). Choose a port from 1024 with ${portSetting}.`;
    default:
      return `${message}. Check ${isPublic ? 'QUARRY_HOST and QUARRY_PORT' : 'QUARRY_METRICS_LISTEN'}.`;
  }
}

/**
 * Binds the address with node:net to learn why uWebSockets.js could not, which reports no reason. Resolves
 * with null if the address can be bound now.
 */
export function findListenFailure({ host, port }: ListenAddress): Promise<NodeJS.ErrnoException | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}
