import { Socket } from 'node:net';
import type { Egress } from './egress.ts';

interface Target {
  readonly host: string;
  readonly port: number;
}

type Connect = (this: Socket, ...connectArguments: unknown[]) => Socket;

/**
 * From now on this thread opens no TCP connection that `egress` does not allow, whichever library asks for it: the SDK of
 * AWS, for example, asks the machine for credentials by itself. Every client of Node (http, https, tls, fetch) connects by
 * this one method, and it looks the name up, so that what is refused asks no name server either.
 */
export function guardSockets(egress: Egress): void {
  const { prototype } = Socket as unknown as { prototype: { connect: Connect } };
  const { connect } = prototype;
  prototype.connect = function guarded(this: Socket, ...connectArguments: unknown[]): Socket {
    const target = parseTarget(connectArguments);
    if (target === null || egress.allows(target.host, target.port))
      return connect.apply(this, connectArguments);
    try {
      egress.check(target.host, target.port);
    } catch (error) {
      // As late as any failure to connect: what asked for the connection listens by then, and writes wait until then.
      (this as { connecting: boolean }).connecting = true;
      setImmediate(() => this.destroy(error as Error));
    }
    return this;
  };
}

/** What a call of `connect` asks for: options, a port with a host, or what Node has made of these. Null: a local path. */
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
