import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseDocument } from 'yaml';
import { projectRoot } from '../../src/core/root.ts';
import { version as versionInCode } from '../../src/core/version.ts';
import t from '../support/tap.ts';
import { renderTemplate } from './chart-template.ts';
import { readDockerfile } from './dockerfile.ts';

const deploy = join(projectRoot, 'deploy');
const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  version: string;
};
const read = (...path: string[]) => readFileSync(join(deploy, ...path), 'utf8');

/** The value at a path such as `spec.containers.0.name`; undefined if it does not exist. */
function get(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((current, name) => (current as Record<string, unknown> | undefined)?.[name], value);
}

/** Helm is not in the registries of this project: the test renders the part of its language that the chart uses. */
function renderChart(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const values = { ...(parse(read('helm', 'values.yaml')) as object), ...changes };
  const scope = { Values: values, Release: { Name: 'docs' }, Chart: { AppVersion: version } };
  const folder = join(deploy, 'helm', 'templates');
  const resources: Record<string, unknown> = {};
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    const document = parseDocument(renderTemplate(read('helm', 'templates', name), scope));
    t.same(document.errors, [], name);
    const resource = document.toJS() as { kind: string } | null;
    if (resource !== null) resources[resource.kind] = resource;
  }
  return resources;
}

t.test('the chart has a server with probes, one volume and no rights', async (t) => {
  const { StatefulSet, Service } = renderChart();
  const pod = get(StatefulSet, 'spec.template.spec');
  const container = get(pod, 'containers.0');
  t.equal(get(StatefulSet, 'spec.replicas'), 1);
  t.match(container, {
    image: `quarry:${version}`,
    startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    resources: { limits: { memory: '4Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  });
  t.same(get(container, 'env'), [{ name: 'QUARRY_TRUST_PROXY', value: 'true' }]);
  t.equal(get(container, 'envFrom'), undefined);
  const { volume, userId } = readDockerfile(join(deploy, 'Dockerfile'));
  t.match(get(pod, 'securityContext'), { runAsNonRoot: true, runAsUser: userId, fsGroup: userId });
  t.match(get(StatefulSet, 'spec.volumeClaimTemplates'), [
    { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '20Gi' } } } },
  ]);
  t.same(get(container, 'volumeMounts'), [
    { name: 'data', mountPath: volume },
    { name: 'tmp', mountPath: '/tmp' },
  ]);
  const labels = get(StatefulSet, 'spec.selector.matchLabels');
  t.type(labels, 'object');
  t.same(get(Service, 'spec.selector'), labels);
  t.same(get(StatefulSet, 'spec.template.metadata.labels'), labels);
  t.equal(get(Service, 'metadata.name'), get(StatefulSet, 'spec.serviceName'));
});

t.test('the network policy admits labeled pods, and DNS only', async (t) => {
  const { NetworkPolicy } = renderChart();
  t.same(get(NetworkPolicy, 'spec.ingress.0.from'), [
    { podSelector: { matchLabels: { 'quarry-client': 'true' } } },
  ]);
  const dns = {
    ports: [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
    ],
  };
  t.same(get(NetworkPolicy, 'spec.egress'), [dns]);
  const rule = { ports: [{ port: 443, protocol: 'TCP' }] };
  const networkPolicy = { enabled: true, clientLabels: {}, egress: [rule] };
  t.same(get(renderChart({ networkPolicy }).NetworkPolicy, 'spec.egress'), [dns, rule]);
  t.notOk('NetworkPolicy' in renderChart({ networkPolicy: { ...networkPolicy, enabled: false } }));
});

t.test('a secret and a storage class are optional', async (t) => {
  const volume = { size: '5Gi', storageClassName: 'fast' };
  const { StatefulSet } = renderChart({ secretName: 'keys', volume });
  t.same(get(StatefulSet, 'spec.template.spec.containers.0.envFrom'), [{ secretRef: { name: 'keys' } }]);
  t.equal(get(StatefulSet, 'spec.volumeClaimTemplates.0.spec.storageClassName'), 'fast');
});

t.test('compose runs the image of the Dockerfile without rights', async (t) => {
  const compose = parse(read('compose.yaml')) as unknown;
  t.match(get(compose, 'services.quarry'), {
    image: `quarry:${version}`,
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    tmpfs: ['/tmp'],
    volumes: [`data:${readDockerfile(join(deploy, 'Dockerfile')).volume}`],
  });
  t.ok('data' in (get(compose, 'volumes') as object));
});

t.test('all versions are the one of package.json', async (t) => {
  const chart = parse(read('helm', 'Chart.yaml')) as Record<string, string>;
  const values = parse(read('helm', 'values.yaml')) as { image: { tag: string } };
  t.same([chart.version, chart.appVersion, values.image.tag], [version, version, version]);
  t.equal(versionInCode, version);
});
