import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port that is free now, for a server whose address must be known before it starts. It lies below those that the
 * kernel gives to connections and to servers on port 0, so that no other test is given it in the meantime.
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
