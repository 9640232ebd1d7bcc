import t from '../support/tap.ts';
import { startTestHttpServer } from './fake-services.ts';

/** The address of metrics serves metrics and probes only, without a credential, and the public one no longer does. */

const remote = { headers: { 'x-forwarded-for': '192.0.2.1' } };
const operation = { method: 'POST', headers: { authorization: 'Bearer all' } };

t.test('the metrics address serves metrics and probes only, without a credential', async (t) => {
  const server = await startTestHttpServer('auto', {
    listener: 'metrics',
    settings: { hasMetricsAddress: true },
  });
  t.teardown(() => server.close(0));
  const get = (path: string, init: RequestInit = remote) => fetch(`${server.url}${path}`, init);
  const metrics = await get('/metrics');
  t.equal(metrics.status, 200, 'requests through a proxy need no credential');
  t.match(await metrics.text(), /quarry_http_requests_running 1/);
  t.match(await (await get('/readyz')).json(), { status: 'ready', components: { store: { ready: true } } });
  t.match(await (await get('/healthz')).json(), { status: 'ok' });
  t.equal((await get('/v1/collections/get-collection-list', operation)).status, 404);
  for (const path of ['/docs', '/app/', '/openapi.json', '/']) t.equal((await get(path)).status, 404, path);
});

t.test('with a metrics address, the public address serves operations and /healthz only', async (t) => {
  const server = await startTestHttpServer('auto', { settings: { hasMetricsAddress: true } });
  t.teardown(() => server.close(0));
  const statusOf = async (path: string, init?: RequestInit) =>
    (await fetch(`${server.url}${path}`, init)).status;
  t.equal(await statusOf('/metrics'), 404);
  t.equal(await statusOf('/metrics', { headers: { authorization: 'Bearer admin' } }), 404);
  t.equal(await statusOf('/readyz'), 404);
  t.equal(await statusOf('/healthz'), 200);
  t.equal(await statusOf('/v1/collections/get-collection-list', operation), 200);
});
