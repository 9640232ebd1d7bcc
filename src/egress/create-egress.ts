import type { Settings } from '../config/schema.ts';
import type { Logger } from '../core/logger.ts';
import { parsePostgresUrl } from '../core/postgres-url.ts';
import { splitServiceUrls } from '../core/service-urls.ts';
import { type AllowedHost, defaultPort, defaultSmtpPort, Egress, normalizeHost } from './egress.ts';

/** Derives the allowed hosts, with their purposes, from the settings. */

/** Google's endpoints are on other hosts than its issuer. */
const issuerEndpoints: Readonly<Record<string, readonly string[]>> = {
  'https://accounts.google.com': ['https://oauth2.googleapis.com', 'https://www.googleapis.com'],
};

/** Creates the egress policy from the hosts in the settings and the egress mode. */
export function createEgress(settings: Settings): Egress {
  return new Egress({ mode: settings.egress, hosts: configuredHosts(settings) });
}

/**
 * Logs a warning for each feature that egress mode `none` disables, so that it is known before the first
 * error.
 */
export function warnAboutDeniedHosts({ mode, hosts }: Egress, logger: Logger): void {
  if (mode !== 'none') return;
  for (const { host, purpose } of hosts)
    logger.warn({ purpose, host }, 'feature disabled by QUARRY_EGRESS=none');
}

function configuredHosts(settings: Settings): AllowedHost[] {
  const allHosts = [
    ...toAllowedHosts('model', modelUrls(settings)),
    ...mailHosts(settings),
    ...toAllowedHosts('sign-in', providerUrls(settings)),
    ...(settings.stripeSecretKey === null ? [] : toAllowedHosts('payments', [settings.stripeApiBase])),
    ...toAllowedHosts('AWS Marketplace', awsUrls(settings)),
    ...(settings.vercelClientId === null ? [] : toAllowedHosts('Vercel', [settings.vercelApiUrl])),
    ...toAllowedHosts('traces', [settings.traceEndpoint]),
    ...toAllowedHosts('backups', backupUrls(settings)),
    ...storeHosts(settings),
    ...toAllowedHosts('files', fileUrls(settings)),
    ...parseExtraHosts(settings.egressHosts),
  ];
  const names = allHosts.map(({ host, port }) => `${host} ${port}`);
  return allHosts.filter((_, i) => names.indexOf(names[i]!) === i);
}

function toAllowedHosts(purpose: string, urls: readonly (string | null)[]): AllowedHost[] {
  return urls.flatMap((url) => {
    if (url === null) return [];
    const { hostname, port, protocol } = new URL(url);
    return [
      { host: normalizeHost(hostname), port: port === '' ? defaultPort(protocol) : Number(port), purpose },
    ];
  });
}

function mailHosts({ mailUrl }: Settings): AllowedHost[] {
  if (mailUrl === null || !/^smtps?:/.test(mailUrl)) return [];
  const { hostname, port, protocol } = new URL(mailUrl);
  const number = port === '' ? defaultSmtpPort(protocol) : Number(port);
  return [{ host: normalizeHost(hostname), port: number, purpose: 'mail' }];
}

function modelUrls(settings: Settings): string[] {
  const { embeddingUrl, zembed1Url, rerankUrl, zerank2Url, chatUrl } = settings;
  const urls = [embeddingUrl, zembed1Url, rerankUrl, zerank2Url, chatUrl];
  return urls.flatMap((url) => (url === null ? [] : splitServiceUrls(url)));
}

function providerUrls(settings: Settings): string[] {
  const { googleClientId, oidcIssuer, githubClientId, githubBaseUrl } = settings;
  const google = googleClientId === null ? [] : [oidcIssuer, ...(issuerEndpoints[oidcIssuer] ?? [])];
  const gitHubApi = githubBaseUrl === 'https://github.com' ? ['https://api.github.com'] : [];
  return [...google, ...(githubClientId === null ? [] : [githubBaseUrl, ...gitHubApi])];
}

/**
 * Where the AWS SDK requests credentials when the settings have none: the instance, its container, or STS.
 */
const credentialUrls = (domain: string) => [
  'http://169.254.169.254',
  'http://169.254.170.2',
  'http://169.254.170.23',
  `https://sts.${domain}`,
];

function awsUrls(settings: Settings): string[] {
  const { awsMarketplace, awsRegion, awsEndpoint, awsAccessKeyId, awsTopicArns, awsSnsUrl } = settings;
  if (!awsMarketplace) return [];
  const domain = awsDomainOf(awsRegion);
  const services = ['metering', 'entitlement'].map((name) => `https://${name}.marketplace.${domain}`);
  const regions = (awsTopicArns ?? '').split(',').flatMap((arn) => arn.split(':')[3] ?? []);
  const topics = awsTopicArns === null ? [] : regions.map((region) => `https://sns.${awsDomainOf(region)}`);
  return [
    ...(awsEndpoint === null ? services : [awsEndpoint]),
    ...(awsAccessKeyId === null ? credentialUrls(domain) : []),
    ...(awsSnsUrl === null ? topics : [awsSnsUrl]),
  ];
}

function storeHosts({ store }: Settings): AllowedHost[] {
  if (store === null) return [];
  const { host, port } = parsePostgresUrl(store);
  return [{ host, port, purpose: 'PostgreSQL' }];
}

function backupUrls(settings: Settings): string[] {
  return bucketUrls(settings.backupTarget, {
    endpoint: settings.backupS3Endpoint,
    region: settings.backupS3Region,
    accessKeyId: settings.backupS3AccessKeyId,
  });
}

function fileUrls(settings: Settings): string[] {
  return bucketUrls(settings.files, {
    endpoint: settings.filesS3Endpoint,
    region: settings.filesS3Region,
    accessKeyId: settings.filesS3AccessKeyId,
  });
}

interface BucketSettings {
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string | null;
}

function bucketUrls(location: string | null, { endpoint, region, accessKeyId }: BucketSettings): string[] {
  const [, bucket] = /^s3:\/\/([^/]+)/.exec(location ?? '') ?? [];
  if (bucket === undefined) return [];
  const domain = awsDomainOf(region);
  return [
    ...(endpoint === null ? [`https://s3.${domain}`, `https://${bucket}.s3.${domain}`] : [endpoint]),
    ...(accessKeyId === null ? credentialUrls(domain) : []),
  ];
}

function awsDomainOf(region: string): string {
  return `${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** Parses comma-separated entries of the form `host` or `host:port`. */
function parseExtraHosts(list: string | null): AllowedHost[] {
  return (list?.split(',') ?? []).map((entry) => {
    const [, host = '', port] = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(entry) ?? [];
    return {
      host: normalizeHost(host),
      port: port === undefined ? null : Number(port),
      purpose: 'egressHosts',
    };
  });
}
