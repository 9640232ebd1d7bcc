import { startEchoServer } from '../../bench/harness/reference-servers.ts';
import t from '../support/tap.ts';

for (const http of ['node', 'uws'] as const) {
  t.test(
    `the echo server on ${http} parses the request and replies with JSON of the requested size`,
    async (t) => {
      const server = await startEchoServer(http);
      if (server === null) {
        t.equal(http, 'uws', 'only a missing library is accepted');
        return;
      }
      t.teardown(() => server.stop());
      const post = (path: string, body: string) =>
        fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body });
      for (const size of [14, 500, 20_000]) {
        const reply = await post(`/v1/echo/${size}`, JSON.stringify({ query: 'a' }));
        t.equal(reply.status, 200);
        const text = await reply.text();
        t.equal(Buffer.byteLength(text), size);
        t.match(JSON.parse(text), { results: String });
      }
    },
  );
}
