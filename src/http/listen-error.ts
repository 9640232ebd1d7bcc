import { createServer } from 'node:net';
import { AppError } from '../core/app-error.ts';

/** Address that a server listens on. */
interface Address {
  readonly host: string;
  readonly port: number;
}

/** Returns the error for an address that cannot be bound; the message is for the operator. */
export function listenError(address: Address, cause: NodeJS.ErrnoException): AppError {
  const { host, port } = address;
  return new AppError('unavailable', `Cannot listen on ${host}:${port}: ${explain(address, cause)}`, {
    cause,
  });
}

function explain({ port }: Address, { code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EADDRINUSE':
      return `the port is in use by another process (EADDRINUSE). Stop that process (\`lsof -i :${port}\` shows it), or choose another port with --port or QUARRY_PORT.`;
    case 'EADDRNOTAVAIL':
      return 'this machine does not have this address (EADDRNOTAVAIL). Choose another address with --host or QUARRY_HOST.';
    case 'EACCES':
      return 'the user of the server may not use this port (EACCES). Choose a port from 1024 with --port or QUARRY_PORT.';
    default:
      return `${message}. Check QUARRY_HOST and QUARRY_PORT.`;
  }
}

/**
 * Binds the address with node:net to learn why uWebSockets.js could not, which reports no reason. Resolves
 * with null if the address can be bound now.
 */
export function findListenFailure({ host, port }: Address): Promise<NodeJS.ErrnoException | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}
