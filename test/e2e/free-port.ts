import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Returns a free port for a server whose address must be known before it starts. The port is below the ephemeral range
 * of the kernel, so that no other test gets it in the meantime.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
