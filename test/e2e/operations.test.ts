import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstCertificate } from '../http/certificate-pairs.ts';
import { findUnknownReferences, readAlertRules, readMonitoringExpressions } from '../package/monitoring.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { startCollector } from '../tracing/collector.ts';
import { freePort } from './free-port.ts';
import { operatorKey, TestServer } from './server.ts';

/** A server as an operator runs it: HTTPS without a proxy, and metrics on an address of their own. */

const folder = mkdtempSync(join(tmpdir(), 'quarry-operations-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const certificateFile = join(folder, 'server.pem');
const keyFile = join(folder, 'server.key');
writeFileSync(certificateFile, firstCertificate.certificate);
writeFileSync(keyFile, firstCertificate.key);

const collector = await startCollector(t);
const metricsAddress = `127.0.0.1:${await freePort()}`;
const server = await TestServer.start(t, {
  TLS_CERTIFICATE_FILE: certificateFile,
  TLS_KEY_FILE: keyFile,
  METRICS_LISTEN: metricsAddress,
  // Every optional metric exists.
  BACKUP_TARGET: join(folder, 'backups'),
  SLOW_QUERY_MS: '1',
  TRACE_ENDPOINT: collector.url,
  TRACE_SAMPLES_PER_THOUSAND: '0',
});

async function call(path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
  const sent = request(`${server.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    ca: firstCertificate.certificate,
    agent: false,
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json', ...headers },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [reply] = await once(sent, 'response');
  let text = '';
  for await (const part of reply) text += part;
  return { status: reply.statusCode as number, headers: reply.headers, text };
}

t.test('HTTPS on the public address', async (t) => {
  t.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  t.match(server.standardOutput, /dashboard: https:\/\/127/);
  const reply = await call('/healthz');
  t.equal(reply.status, 200);
  t.match(reply.headers, { 'strict-transport-security': 'max-age=31536000' });
  t.equal((await call('/v1/collections/add-collection', { collection_name: 'c' })).status, 201);
});

t.test('metrics and readiness on their own address only', async (t) => {
  for (const path of ['/metrics', '/readyz']) t.equal((await call(path)).status, 404, path);
  const metrics = await (await fetch(`http://${metricsAddress}/metrics`)).text();
  const expiry = /^quarry_tls_certificate_expiry_timestamp_seconds (\S+)$/m.exec(metrics)?.[1];
  t.ok(Number(expiry) > Date.parse('2100-01-01') / 1_000, `expires at ${expiry}`);
  t.match(metrics, /^quarry_tls_reload_failures 0$/m);
  t.match(await (await fetch(`http://${metricsAddress}/readyz`)).json(), {
    components: { tls: { ready: true, detail: /certificate of DNS:one\.example\.com.* expires at 21/ } },
  });
});

t.test('the dashboard and the alerts use metrics and labels that exist', async (t) => {
  const exposition = await (await fetch(`http://${metricsAddress}/metrics`)).text();
  const expressions = readMonitoringExpressions();
  t.ok(expressions.length > 40);
  t.same(
    expressions.flatMap((expression) => findUnknownReferences(expression, exposition)),
    [],
  );
  const mistakes = [
    'sum(quarry_none)',
    'quarry_documents{state="indexed"}',
    'quarry_documents{status="lost"}',
  ];
  for (const expression of mistakes)
    t.not(
      findUnknownReferences({ owner: 'test', expression, legendLabels: [] }, exposition).length,
      0,
      expression,
    );
  for (const { alert, labels, annotations } of readAlertRules()) {
    t.match(labels.severity, /^(critical|warning)$/, alert);
    t.match(annotations, { summary: /\.$/, action: /\S/ }, alert);
  }
});

t.test('a query with a traceparent is traced with its stages', async (t) => {
  const content = { type: 'text', text: 'Refunds take five days.' };
  const document = { collection_name: 'c', path: 'refunds.txt', content, wait: true };
  t.equal((await call('/v1/documents/add-document', document)).status, 201);
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const query = { collection_name: 'c', query: 'refunds', k: 3, reranker: 'zerank-2' };
  const reply = await call('/v1/queries/top-snippets', query, { traceparent });
  t.equal(reply.status, 200);
  t.match(reply.headers.traceresponse, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  t.equal((await call('/healthz')).headers.traceresponse, undefined);
  await waitUntil('the export of the trace', () => collector.spans.some(({ kind }) => kind === 2));
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  t.equal(spans.length, collector.spans.length, 'other requests are not traced');
  const names = new Set(spans.map(({ name }) => name));
  t.same([...names].sort(), ['analyze', 'embed', 'fuse', 'read', 'rerank', 'search', 'top-snippets']);
  t.match(spans.at(-1), {
    parentSpanId: 'b7ad6b7169203331',
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/queries/top-snippets',
      'http.response.status_code': '200',
      'quarry.request_id': reply.headers['x-request-id'],
    },
  });
  const readiness = await (await fetch(`http://${metricsAddress}/readyz`)).text();
  t.match(readiness, `127.0.0.1:${collector.port} (traces)`);
});
