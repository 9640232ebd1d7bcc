import { createServer } from 'node:http';
import { runWrk, wrkVersion } from '../../bench/harness/wrk.ts';
import t from '../support/tap.ts';

const installed = (await wrkVersion()) !== null;
const job = { key: 'key', operation: 'queries/top-snippets', connections: 2, warmUpSeconds: 0, seconds: 1 };
const bodies = [{ query: 'a "quoted" word' }, { query: 'another\nline' }];

/** Server that replies with `status` and records request bodies. */
async function serve(status: number) {
  const requestedBodies = new Set<string>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      requestedBodies.add(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
      response.writeHead(status).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return { server, requestedBodies, port: address.port };
}

t.test(
  'wrk sends all questions in turn and reports throughput and quantiles',
  { skip: !installed },
  async (t) => {
    const { server, requestedBodies, port } = await serve(200);
    const outcome = await runWrk({ ...job, port, bodies, serverPid: process.pid });
    server.close();
    t.same(
      [...requestedBodies].sort(),
      bodies.map((body) => `POST /v1/queries/top-snippets Bearer key ${JSON.stringify(body)}`).sort(),
    );
    t.ok(outcome.replies > 10 && outcome.windowMs > 500);
    t.ok(outcome.p50Ms > 0 && outcome.p50Ms <= outcome.p99Ms && outcome.p99Ms <= outcome.mostMs);
  },
);

t.test('error replies end the run', { skip: !installed }, async (t) => {
  const { server, port } = await serve(500);
  await t.rejects(runWrk({ ...job, port, bodies, serverPid: process.pid }), /errors in/);
  server.close();
});
