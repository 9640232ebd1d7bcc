import { resolve } from 'node:path';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { Sealer } from '../core/sealer.ts';
import { sourceLimits } from '../core/source-limits.ts';
import { PinnedConnections } from '../egress/pinned-connections.ts';
import type { DirectorySettings, FeedSettings, S3Settings, WebsiteSettings } from '../schemas/sources.ts';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import { S3Source } from '../sources/s3/s3-source.ts';
import { type SourceCredentials, SourceKinds, type SourceOpener } from '../sources/source-kinds.ts';
import { FeedSource } from '../sources/web/feed-source.ts';
import { MainContentThread } from '../sources/web/main-content-thread.ts';
import { WebClient } from '../sources/web/web-client.ts';
import { WebsiteSource } from '../sources/web/website-source.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import { createGitOpener } from './git-opener.ts';
import { createImapOpener } from './imap-opener.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';
import { createWebDavOpener } from './webdav-opener.ts';

/** Opens origins as the settings of the server allow it. */

export function createSourceKinds(
  settings: Settings,
  resources: ResourceStack,
  { secrets, path: dataFolder, cachePath, space }: DataDirectory,
): SourceKinds {
  const connections = new PinnedConnections({
    mode: settings.egress,
    hosts: settings.sourceHosts?.split(',') ?? [],
    privateHosts: settings.sourcePrivateHosts?.split(',') ?? [],
    settingNames: { hosts: 'QUARRY_SOURCE_HOSTS', privateHosts: 'QUARRY_SOURCE_PRIVATE_HOSTS' },
  });
  resources.add(() => connections.close());
  // All runs can write at the same time.
  const bytesFree = () => Math.floor((space.freeBytes - settings.diskReserveBytes) / sourceLimits.runsMax);
  const openers = {
    directory: createDirectoryOpener(settings, dataFolder),
    s3: createS3Opener(connections),
    website: createWebsiteOpener(connections),
    rss: createFeedOpener(connections),
    git: createGitOpener({ connections, cacheFolder: cachePath, bytesFree }),
    webdav: createWebDavOpener(connections),
    imap: createImapOpener(connections),
  };
  return new SourceKinds(openers, new Sealer(deriveSecrets(secrets, 'sources'), random));
}

function createDirectoryOpener({ sourceFolders }: Settings, dataFolder: string): SourceOpener {
  const folders = parseFolders(sourceFolders);
  return {
    credentialNames: [],
    canWatch: true,
    open({ organizationId, settings }) {
      const { path, include_hidden, url_prefix } = settings as DirectorySettings;
      return DirectorySource.open({
        path: resolve(path),
        includesHidden: include_hidden ?? false,
        urlPrefix: url_prefix ?? null,
        allowedFolders: folders
          .filter((folder) => folder.organizationId === null || folder.organizationId === organizationId)
          .map((folder) => folder.path),
        dataFolder: resolve(dataFolder),
        clock,
      });
    },
  };
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const regionPattern = /^[a-z0-9-]{1,64}$/;

function createS3Opener(connections: PinnedConnections): SourceOpener {
  return {
    credentialNames: ['access_key_id', 'secret_access_key'],
    canWatch: false,
    async open({ settings }, credentials) {
      const { bucket, key_prefix, region: given, endpoint: url, include_tags } = settings as S3Settings;
      const region = given ?? 'us-east-1';
      if (!bucketPattern.test(bucket))
        throw new AppError(
          'bad_request',
          `${JSON.stringify(bucket)} is not a bucket name: 3 to 63 lower-case letters, digits, "-" and ".".`,
        );
      if (!regionPattern.test(region))
        throw new AppError(
          'bad_request',
          `${JSON.stringify(region)} is not a region, such as "eu-central-1".`,
        );
      const endpoint = url ?? `https://s3.${region}.amazonaws.com`;
      connections.checkUrl(endpoint);
      const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = credentials;
      if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
        throw new AppError('bad_request', 'Send both access_key_id and secret_access_key, or neither.');
      return new S3Source({
        bucket,
        prefix: key_prefix ?? '',
        region,
        endpoint,
        includesTags: include_tags ?? false,
        credentials:
          accessKeyId === undefined || secretAccessKey === undefined
            ? null
            : { accessKeyId, secretAccessKey },
        agents: connections.createAgents(),
      });
    },
  };
}

const webCredentials = ['authorization'] as const;

function createWebsiteOpener(connections: PinnedConnections): SourceOpener {
  return {
    credentialNames: webCredentials,
    canWatch: false,
    async open({ settings }, credentials) {
      const website = settings as WebsiteSettings;
      const { websitePagesMax, websitePagesDefault, websiteDepthMax, websiteDepthDefault } = sourceLimits;
      const { requestsPerSecondMax, requestsPerSecondDefault } = sourceLimits;
      const url = connections.checkUrl(website.url);
      const sitemapUrl = website.sitemap_url == null ? null : connections.checkUrl(website.sitemap_url);
      const pagesMax = website.max_pages ?? websitePagesDefault;
      const depthMax = website.max_depth ?? websiteDepthDefault;
      const requestsPerSecond = website.requests_per_second ?? requestsPerSecondDefault;
      checkRange('max_pages', pagesMax, [1, websitePagesMax]);
      checkRange('max_depth', depthMax, [0, websiteDepthMax]);
      checkRange('requests_per_second', requestsPerSecond, [0.01, requestsPerSecondMax]);
      const client = createClient(connections, url, { requestsPerSecond, credentials });
      const { mainContentMsMax: msMax, mainContentMbMax: memoryMbMax } = sourceLimits;
      const mainContent =
        website.main_content === true ? new MainContentThread({ msMax, memoryMbMax }) : null;
      return new WebsiteSource({ url, sitemapUrl, pagesMax, depthMax, client, mainContent });
    },
  };
}

function createFeedOpener(connections: PinnedConnections): SourceOpener {
  return {
    credentialNames: webCredentials,
    canWatch: false,
    async open({ settings }, credentials) {
      const feed = settings as FeedSettings;
      const url = connections.checkUrl(feed.url);
      const { requestsPerSecondDefault: requestsPerSecond } = sourceLimits;
      const client = createClient(connections, url, { requestsPerSecond, credentials });
      return new FeedSource({ url, client, keepsRemoved: feed.keep_removed ?? true });
    },
  };
}

function createClient(
  connections: PinnedConnections,
  { origin }: URL,
  { requestsPerSecond, credentials }: { requestsPerSecond: number; credentials: SourceCredentials },
): WebClient {
  const { authorization = null } = credentials;
  if (authorization !== null && !/^[\x20-\x7e]{1,4096}$/.test(authorization))
    throw new AppError(
      'bad_request',
      'The credential authorization must have 1 to 4,096 printable ASCII characters.',
    );
  return new WebClient({ connections, clock, requestsPerSecond, authorization, origin });
}

function checkRange(name: string, value: number, [minimum, maximum]: readonly [number, number]): void {
  if (value >= minimum && value <= maximum) return;
  throw new AppError('bad_request', `${name} is ${value}; it must be from ${minimum} to ${maximum}.`);
}

interface AllowedFolder {
  /** Null: for all organizations. */
  readonly organizationId: string | null;
  readonly path: string;
}

/** Parses the setting `sourceFolders`. */
function parseFolders(list: string | null): AllowedFolder[] {
  return (list?.split(',') ?? []).map((entry) => {
    const [, organizationId = null, path = ''] = /^(?:([0-9a-f-]{36})=)?(.*)$/.exec(entry) ?? [];
    return { organizationId, path: resolve(path) };
  });
}
