import { UwsUnavailableError } from '../../src/http/uws-library.ts';
import t, { type Test } from '../support/tap.ts';
import { startTestHttpServer, type TestHttpServer, type TestHttpServerOptions } from './fake-services.ts';
import { RawClient } from './raw-client.ts';

/** Some of the tests wait for a timeout of the server, so they run in parallel. */
t.jobs = 6;

export const megabyte = 1_048_576;
export const listPath = '/v1/collections/get-collection-list';
export const addPath = '/v1/documents/add-document';

export interface ServerTestContext {
  readonly t: Test;
  readonly kind: 'uws' | 'node';
  readonly open: (options?: TestHttpServerOptions) => Promise<TestHttpServer>;
  readonly connect: (server: TestHttpServer) => Promise<RawClient>;
}

/**
 * Reason to skip uWebSockets.js, or false. Its packages are optional, one per Node version, so a checkout installed
 * for another version has none; on the platform of the CI it must exist.
 */
async function findUwsMissing(): Promise<string | false> {
  const required =
    process.platform === 'linux' && process.arch === 'x64' && process.version.startsWith('v20.');
  try {
    await (await startTestHttpServer('uws')).close(0);
    return false;
  } catch (error) {
    if (required || !(error instanceof UwsUnavailableError)) throw error;
    return error.message;
  }
}
export const uwsMissing = await findUwsMissing();

/** Runs a test against both HTTP servers: the behavior that clients rely on must be the same. */
export function serverContract(title: string, run: (context: ServerTestContext) => Promise<void>): void {
  for (const kind of ['uws', 'node'] as const) {
    const skip = kind === 'uws' && uwsMissing;
    t.test(`${kind}: ${title}`, { skip }, async (t) => {
      const open = async (options?: TestHttpServerOptions) => {
        const server = await startTestHttpServer(kind, options);
        t.teardown(() => server.close(0));
        return server;
      };
      const connect = async (server: TestHttpServer) => {
        const client = await RawClient.open(server.port);
        t.teardown(() => client.close());
        return client;
      };
      await run({ t, kind, open, connect });
    });
  }
}

/** Gate at which a service waits until the test opens it. */
export function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}
