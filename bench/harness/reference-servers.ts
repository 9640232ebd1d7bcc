import { fileURLToPath } from 'node:url';
import { type ManagedProcess, startProcess } from './managed-process.ts';

/** A server that does next to nothing, as a limit of what can be measured. */
export interface ReferenceServer {
  readonly pid: number;
  readonly port: number;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Starts a server that replies to every request with the same `replyBytes` bytes. */
export async function startTrivialServer(replyBytes: number): Promise<ReferenceServer> {
  const child = await start(new URL('./trivial-server.js', import.meta.url), String(replyBytes));
  return toServer(child, (await child.ready)[1] ?? '');
}

/** Starts the echo server on an HTTP library; resolves with null if the library is not available. */
export async function startEchoServer(http: 'uws' | 'node'): Promise<ReferenceServer | null> {
  const child = await start(new URL('./echo-server.js', import.meta.url), http);
  const [, port] = await child.ready;
  if (port !== undefined) return toServer(child, port);
  await child.stop();
  return null;
}

function start(file: URL, argument: string): Promise<ManagedProcess> {
  return startProcess({
    programArguments: [fileURLToPath(file), argument],
    environment: process.env,
    ready: /listening on (\d+)\n|unavailable\n/,
    readyMsMax: 60_000,
    stopMsMax: 5_000,
  });
}

function toServer(child: ManagedProcess, port: string): ReferenceServer {
  return { pid: child.pid, port: Number(port), stop: () => child.stop() };
}
