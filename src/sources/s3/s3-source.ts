import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { AppError } from '../../core/app-error.ts';
import type { EgressAgents } from '../../egress/egress.ts';
import type { Metadata } from '../../storage/metadata-codec.ts';
import type { Source, SourceChange, SourceContent, SourceItem, SourceListing } from '../source.ts';

export interface S3SourceOptions {
  readonly bucket: string;
  /** Prefix of the keys of its objects; removed from the keys of the items. */
  readonly prefix: string;
  readonly region: string;
  readonly endpoint: string;
  /** Whether the tags of objects become metadata, which takes a request per new object. */
  readonly includesTags: boolean;
  /** Null: requests are not signed, for public buckets. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  readonly agents: EgressAgents;
}

interface LoadedSdk {
  readonly sdk: typeof import('@aws-sdk/client-s3');
  readonly client: S3Client;
}

/** Milliseconds for opening a connection, and for a request without progress. */
const timeoutMs = 60_000;

/** Required by the SDK although requests are not signed. */
const unusedCredentials = { accessKeyId: 'none', secretAccessKey: 'none' } as const;

/** Objects of a bucket in S3 or a compatible store. */
export class S3Source implements Source {
  readonly #options: S3SourceOptions;
  #loading: Promise<LoadedSdk> | null = null;

  constructor(options: S3SourceOptions) {
    this.#options = options;
  }

  async *listChanges(
    _cursor: string | null,
    abortSignal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    const { bucket: Bucket, prefix: Prefix } = this.#options;
    let token: string | undefined;
    do {
      const request = { Bucket, Prefix, ...(token === undefined ? {} : { ContinuationToken: token }) };
      const page = await this.#call(({ sdk, client }) =>
        client.send(new sdk.ListObjectsV2Command(request), { abortSignal }),
      );
      for (const { Key = '', ETag = '', Size = 0, LastModified } of page.Contents ?? []) {
        const key = Key.slice(Prefix.length);
        // An object that stands for a folder.
        if (key === '' || key.endsWith('/')) continue;
        const version = `${ETag.replaceAll('"', '')}-${Size}-${LastModified?.getTime() ?? 0}`;
        yield { type: 'item', item: { key, version, metadata: this.#metadataOf(Key, LastModified) } };
      }
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return { cursor: null, isComplete: true };
  }

  async read({ key }: SourceItem, abortSignal: AbortSignal): Promise<SourceContent | null> {
    const object = this.#objectOf(key);
    try {
      const reply = await this.#call(({ sdk, client }) =>
        client.send(new sdk.GetObjectCommand(object), { abortSignal }),
      );
      const tags = this.#options.includesTags ? await this.#readTags(key, abortSignal) : {};
      return { bytes: (reply.Body ?? emptyBody()) as Readable, metadata: tags };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async exists(key: string, abortSignal: AbortSignal): Promise<boolean> {
    const object = this.#objectOf(key);
    try {
      await this.#call(({ sdk, client }) => client.send(new sdk.HeadObjectCommand(object), { abortSignal }));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#loading !== null) (await this.#loading).client.destroy();
  }

  async #readTags(key: string, abortSignal: AbortSignal): Promise<Metadata> {
    const object = this.#objectOf(key);
    const { TagSet = [] } = await this.#call(({ sdk, client }) =>
      client.send(new sdk.GetObjectTaggingCommand(object), { abortSignal }),
    );
    const named = TagSet.map(({ Key = '', Value = '' }) => [
      `source_tag_${Key.replace(/[^A-Za-z0-9_-]/g, '_')}`,
      Value,
    ]);
    return Object.fromEntries(named) as Metadata;
  }

  #metadataOf(key: string, modifiedAt: Date | undefined): Metadata {
    const url = `s3://${this.#options.bucket}/${key}`;
    return {
      source_url: url,
      ...(modifiedAt === undefined ? {} : { modified_at: modifiedAt.toISOString() }),
    };
  }

  #objectOf(key: string) {
    return { Bucket: this.#options.bucket, Key: `${this.#options.prefix}${key}` };
  }

  /** Errors: `bad_gateway` if the store cannot be reached or rejects the request. */
  async #call<Result>(work: (sdk: LoadedSdk) => Promise<Result>): Promise<Result> {
    this.#loading ??= this.#load();
    const loaded = await this.#loading;
    try {
      return await work(loaded);
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const { name, message } = cause as Error;
      const reason = name === message ? name : `${name}: ${message}`;
      throw new AppError('bad_gateway', `A request to the bucket ${this.#options.bucket} failed: ${reason}`, {
        cause,
      });
    }
  }

  async #load(): Promise<LoadedSdk> {
    const sdk = await import('@aws-sdk/client-s3');
    const { region, endpoint, credentials, agents } = this.#options;
    const client = new sdk.S3Client({
      region,
      endpoint,
      forcePathStyle: true,
      maxAttempts: 5,
      // Compatible stores do not know the checksums that the SDK adds by default.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { ...agents, connectionTimeout: timeoutMs, requestTimeout: timeoutMs },
      // Without credentials the SDK would use those of the server, and an organization could read all that it can read.
      credentials: credentials ?? unusedCredentials,
      ...(credentials === null ? { signer: { sign: async (request) => request } } : {}),
    });
    return { sdk, client };
  }
}

async function* emptyBody(): AsyncGenerator<Uint8Array, void, void> {}

/** A bucket that does not exist is an error of the source, not a missing object. */
function isMissing(error: unknown): boolean {
  const { cause } = error as { cause?: { name?: string; $metadata?: { httpStatusCode?: number } } };
  return cause?.$metadata?.httpStatusCode === 404 && cause.name !== 'NoSuchBucket';
}
