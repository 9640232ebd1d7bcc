import { createServer, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';

/**
 * Echo server: parses the JSON of a request and replies with JSON of as many bytes as the last segment of the
 * path says. The same client reaches with it what the HTTP server allows when a query costs nothing.
 * Argument: `uws` or `node`. Exits when its standard input ends, so that it does not outlive the bench.
 */
const replies = new Map<string, Buffer>();

/** Returns the reply to a request. Errors: throws if the body is not a JSON object with a query. */
function replyTo(path: string, body: Buffer): Buffer {
  const { query } = JSON.parse(body.toString('utf8')) as { query: unknown };
  if (typeof query !== 'string') throw new Error('The request has no query.');
  const size = path.slice(path.lastIndexOf('/') + 1);
  const known = replies.get(size);
  if (known !== undefined) return known;
  const frame = '{"results":""}';
  const reply = Buffer.from(`{"results":"${'x'.repeat(Math.max(0, Number(size) - frame.length))}"}`);
  replies.set(size, reply);
  return reply;
}

function announce(port: number): void {
  process.stdout.write(`listening on ${port}\n`);
}

function serveWithNode(): void {
  const server = createServer((request: IncomingMessage, response) => {
    buffer(request).then(
      (body) => {
        const reply = replyTo(request.url ?? '', body);
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.length });
        response.end(reply);
      },
      // A client that disconnects during a request only ends its connection.
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') announce(address.port);
  });
}

/** Subset of uWebSockets.js in use; its packages have no types. */
interface UwsLibrary {
  App(): UwsApp;
  us_socket_local_port(socket: unknown): number;
}
interface UwsApp {
  any(pattern: string, handler: (response: UwsResponse, request: { getUrl(): string }) => void): UwsApp;
  listen(host: string, port: number, listening: (socket: unknown) => void): UwsApp;
}
interface UwsResponse {
  writeHeader(name: string, value: string): UwsResponse;
  end(body: Uint8Array): UwsResponse;
  onAborted(listener: () => void): UwsResponse;
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
}

function loadUws(): UwsLibrary | null {
  const require = createRequire(import.meta.url);
  const major = process.versions.node.split('.')[0];
  for (const name of ['uWebSockets.js', `@uwsjs/${process.platform}-${process.arch}-${major}`]) {
    try {
      return require(name) as UwsLibrary;
    } catch {
      // The next package may be installed.
    }
  }
  return null;
}

function serveWithUws(library: UwsLibrary): void {
  const app = library.App().any('/*', (response, request) => {
    const path = request.getUrl();
    const parts: Buffer[] = [];
    response.onAborted(() => {});
    response.onData((chunk, isLast) => {
      // The library reuses the chunk after this call.
      parts.push(Buffer.from(chunk.slice(0)));
      if (!isLast) return;
      response.writeHeader('content-type', 'application/json').end(replyTo(path, Buffer.concat(parts)));
    });
  });
  app.listen('127.0.0.1', 0, (socket) => announce(library.us_socket_local_port(socket)));
}

const library = process.argv[2] === 'uws' ? loadUws() : null;
if (library !== null) serveWithUws(library);
else if (process.argv[2] === 'uws') process.stdout.write('unavailable\n');
else serveWithNode();
process.stdin.resume().once('end', () => process.exit(0));
