import { Socket } from 'node:net';
import type { Egress } from './egress.ts';

interface Target {
  readonly host: string;
  readonly port: number;
}

type Connect = (this: Socket, ...connectArguments: unknown[]) => Socket;

const permittedSockets = new WeakSet<Socket>();

/** Allows the connection of a socket whose address is checked by the caller. */
export function permitConnection(socket: Socket): void {
  permittedSockets.add(socket);
}

/**
 * From now on, this thread opens no TCP connection that `egress` does not allow, regardless of the library:
 * the AWS SDK, for example, requests credentials from the instance on its own. All Node clients (http, https,
 * tls, fetch) connect through this method, which also resolves the name, so a blocked host is never resolved.
 */
export function guardSockets(egress: Egress): void {
  const { prototype } = Socket as unknown as { prototype: { connect: Connect } };
  const { connect } = prototype;
  prototype.connect = function guarded(this: Socket, ...connectArguments: unknown[]): Socket {
    const target = parseTarget(connectArguments);
    const isPermitted = target === null || permittedSockets.has(this);
    if (isPermitted || egress.allows(target.host, target.port)) return connect.apply(this, connectArguments);
    try {
      egress.check(target.host, target.port);
    } catch (error) {
      // Fail as late as any connection error: the caller has attached its listeners by then, and writes are
      // queued until then.
      (this as { connecting: boolean }).connecting = true;
      setImmediate(() => this.destroy(error as Error));
    }
    return this;
  };
}

/**
 * Extracts the target of a `connect` call: options, a port with a host, or their normalized form. Null: a
 * local path.
 */
function parseTarget(connectArguments: readonly unknown[]): Target | null {
  const first: unknown = Array.isArray(connectArguments[0]) ? connectArguments[0][0] : connectArguments[0];
  if (typeof first === 'object' && first !== null) {
    const { path, host, port } = first as { path?: unknown; host?: unknown; port?: unknown };
    if (typeof path === 'string' && port === undefined) return null;
    return { host: typeof host === 'string' && host !== '' ? host : 'localhost', port: Number(port) };
  }
  if (typeof first === 'string' && !/^\d+$/.test(first)) return null;
  return {
    host: typeof connectArguments[1] === 'string' ? connectArguments[1] : 'localhost',
    port: Number(first),
  };
}
