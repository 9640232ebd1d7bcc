import { createServer } from 'node:net';
import { silentLogger } from '../../src/core/logger.ts';
import { defaultBounds, startHttpListener } from '../../src/http/listen.ts';
import type { ListenerName } from '../../src/http/listen-error.ts';
import type { RequestHandler } from '../../src/http/request-handler.ts';
import t from '../support/tap.ts';

/** An address that cannot be bound ends the start with its reason and a remedy, with both HTTP servers. */

const requestHandler = { handleOn: () => () => undefined } as unknown as RequestHandler;

for (const kind of ['uws', 'node'] as const) {
  const listen = (host: string, port: number, name: ListenerName = 'public') =>
    startHttpListener({
      requestHandler,
      kind,
      name,
      host,
      port,
      bounds: defaultBounds,
      certificates: null,
      logger: silentLogger,
    });

  t.test(`${kind}: a port in use is reported with its address and the remedy`, async (t) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.teardown(() => other.close());
    const { port } = other.address() as { port: number };
    await t.rejects(listen('127.0.0.1', port), {
      code: 'unavailable',
      message: `Cannot listen on 127.0.0.1:${port}: the port is in use by another process (EADDRINUSE). Stop that process (\`lsof -i :${port}\` shows it), or choose another port with --port or QUARRY_PORT.`,
    });
    await t.rejects(listen('127.0.0.1', port, 'metrics'), {
      message: /choose another port with QUARRY_METRICS_LISTEN/,
    });
  });

  t.test(`${kind}: an address of another machine is reported as such`, async (t) => {
    await t.rejects(listen('192.0.2.1', 0), {
      message:
        'Cannot listen on 192.0.2.1:0: this machine does not have this address (EADDRNOTAVAIL). Choose another address with --host or QUARRY_HOST.',
    });
  });
}
