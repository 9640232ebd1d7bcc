import type { Logger } from '../base/logger.ts';
import type { Settings } from '../config/schema.ts';
import { type AllowedHost, bareHost, defaultPort, Egress, usualSmtpPort } from './egress.ts';

/** Which hosts the settings name, and for what. */

/** Google names its own endpoints at other hosts than its issuer. */
const endpointsOfIssuers: Readonly<Record<string, readonly string[]>> = {
  'https://accounts.google.com': ['https://oauth2.googleapis.com', 'https://www.googleapis.com'],
};

/** The hosts that the settings name, and whether they may be connected to. */
export function openEgress(settings: Settings): Egress {
  return new Egress({ mode: settings.egress, hosts: hostsOf(settings) });
}

/** Says which features cannot work, so that nobody learns it from the first error. */
export function warnOfRefused({ mode, hosts }: Egress, logger: Logger): void {
  if (mode !== 'none') return;
  for (const { host, purpose } of hosts)
    logger.warn({ purpose, host }, 'a feature needs a connection that QUARRY_EGRESS=none refuses');
}

function hostsOf(settings: Settings): AllowedHost[] {
  const all = [
    ...places('model', [settings.embeddingUrl, settings.rerankUrl]),
    ...mailHosts(settings),
    ...places('sign-in', providerUrls(settings)),
    ...(settings.stripeSecretKey === null ? [] : places('payments', [settings.stripeApiBase])),
    ...places('AWS Marketplace', awsUrls(settings)),
    ...(settings.vercelClientId === null ? [] : places('Vercel', [settings.vercelApiUrl])),
    ...furtherHosts(settings.egressHosts),
  ];
  const names = all.map(({ host, port }) => `${host} ${port}`);
  return all.filter((_, i) => names.indexOf(names[i]!) === i);
}

function places(purpose: string, urls: readonly (string | null)[]): AllowedHost[] {
  return urls.flatMap((url) => {
    if (url === null) return [];
    const { hostname, port, protocol } = new URL(url);
    return [{ host: bareHost(hostname), port: port === '' ? defaultPort(protocol) : Number(port), purpose }];
  });
}

function mailHosts({ mailUrl }: Settings): AllowedHost[] {
  if (mailUrl === null || !/^smtps?:/.test(mailUrl)) return [];
  const { hostname, port, protocol } = new URL(mailUrl);
  const number = port === '' ? usualSmtpPort(protocol) : Number(port);
  return [{ host: bareHost(hostname), port: number, purpose: 'mail' }];
}

function providerUrls(settings: Settings): string[] {
  const { googleClientId, oidcIssuer, githubClientId, githubBaseUrl } = settings;
  const google = googleClientId === null ? [] : [oidcIssuer, ...(endpointsOfIssuers[oidcIssuer] ?? [])];
  const gitHubApi = githubBaseUrl === 'https://github.com' ? ['https://api.github.com'] : [];
  return [...google, ...(githubClientId === null ? [] : [githubBaseUrl, ...gitHubApi])];
}

/** Where the SDK of AWS asks for credentials when the settings have none: the machine, its container, or STS. */
const credentialUrls = (domain: string) => [
  'http://169.254.169.254',
  'http://169.254.170.2',
  'http://169.254.170.23',
  `https://sts.${domain}`,
];

function awsUrls(settings: Settings): string[] {
  const { awsMarketplace, awsRegion, awsEndpoint, awsAccessKeyId, awsTopicArns, awsSnsUrl } = settings;
  if (!awsMarketplace) return [];
  const domain = awsDomain(awsRegion);
  const services = ['metering', 'entitlement'].map((name) => `https://${name}.marketplace.${domain}`);
  const regions = (awsTopicArns ?? '').split(',').flatMap((arn) => arn.split(':')[3] ?? []);
  const topics = awsTopicArns === null ? [] : regions.map((region) => `https://sns.${awsDomain(region)}`);
  return [
    ...(awsEndpoint === null ? services : [awsEndpoint]),
    ...(awsAccessKeyId === null ? credentialUrls(domain) : []),
    ...(awsSnsUrl === null ? topics : [awsSnsUrl]),
  ];
}

function awsDomain(region: string): string {
  return `${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** `host` or `host:port`, with commas between. */
function furtherHosts(list: string | null): AllowedHost[] {
  return (list?.split(',') ?? []).map((entry) => {
    const [, host = '', port] = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(entry) ?? [];
    return { host: bareHost(host), port: port === undefined ? null : Number(port), purpose: 'egressHosts' };
  });
}
