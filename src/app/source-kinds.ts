import { resolve } from 'node:path';
import type { Settings } from '../config/schema.ts';
import { AppError } from '../core/app-error.ts';
import { Sealer } from '../core/sealer.ts';
import { SourceConnections } from '../egress/source-connections.ts';
import type { DirectorySettings, S3Settings } from '../schemas/sources.ts';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import { S3Source } from '../sources/s3/s3-source.ts';
import { SourceKinds, type SourceOpener } from '../sources/source-kinds.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { deriveSecrets } from '../storage/installation-secrets.ts';
import type { ResourceStack } from './resource-stack.ts';
import { clock, random } from './runtime.ts';

/** Opens origins as the settings of the server allow it. */

export function createSourceKinds(
  settings: Settings,
  resources: ResourceStack,
  { secrets, path: dataFolder }: DataDirectory,
): SourceKinds {
  const connections = new SourceConnections({
    mode: settings.egress,
    hosts: settings.sourceHosts?.split(',') ?? [],
    privateHosts: settings.sourcePrivateHosts?.split(',') ?? [],
  });
  resources.add(() => connections.close());
  const openers = {
    directory: createDirectoryOpener(settings, dataFolder),
    s3: createS3Opener(connections),
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

function createS3Opener(connections: SourceConnections): SourceOpener {
  return {
    credentialNames: ['access_key_id', 'secret_access_key'],
    canWatch: false,
    async open({ settings }, credentials) {
      const { bucket, key_prefix, region: given, endpoint: url, include_tags } = settings as S3Settings;
      const region = given ?? 'us-east-1';
      if (!bucketPattern.test(bucket))
        throw new AppError('bad_request', `${JSON.stringify(bucket)} is not the name of a bucket.`);
      if (!regionPattern.test(region))
        throw new AppError('bad_request', `${JSON.stringify(region)} is not a region.`);
      const endpoint = url ?? `https://s3.${region}.amazonaws.com`;
      connections.checkUrl(endpoint);
      const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = credentials;
      if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
        throw new AppError('bad_request', 'The credentials need access_key_id and secret_access_key.');
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
