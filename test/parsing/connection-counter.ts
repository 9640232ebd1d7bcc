import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Test } from '../support/tap.ts';

/** Port on the loopback interface that counts connections and closes each of them immediately. */
export async function countConnections(
  t: Test,
): Promise<{ readonly port: number; readonly connections: () => number }> {
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  t.teardown(() => listener.close());
  await once(listener, 'listening');
  return { port: (listener.address() as AddressInfo).port, connections: () => connections };
}
