import { Readable } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { BackupTarget, TargetEntry } from './target.ts';

export interface S3Location {
  readonly bucket: string;
  /** Prefix of all keys, empty or with a slash at its end. */
  readonly prefix: string;
}

/** Parses `s3://bucket/folder`; null for a location of another kind. Errors: `bad_request`. */
export function parseS3Location(location: string): S3Location | null {
  if (!location.startsWith('s3://')) return null;
  const [, bucket, folder = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(location) ?? [];
  if (bucket === undefined)
    throw new AppError('bad_request', `The backup target ${location} is not of the form s3://bucket/folder.`);
  const trimmed = folder.replace(/^\/+|\/+$/g, '');
  return { bucket, prefix: trimmed === '' ? '' : `${trimmed}/` };
}

export interface S3TargetOptions extends S3Location {
  readonly location: string;
  /** Purpose of the target, for messages. */
  readonly noun: string;
  readonly config: S3ClientConfig;
  readonly clock: Pick<Clock, 'now'>;
}

interface LoadedLibrary {
  readonly sdk: typeof import('@aws-sdk/client-s3');
  readonly storage: typeof import('@aws-sdk/lib-storage');
  readonly client: S3Client;
}

/** Bytes of a part of a large file; a file may have 10,000 parts. A smaller file is written with one request. */
const partBytes = 16 * 1_048_576;
/** Age from which an upload counts as abandoned. */
const uploadMsMax = 86_400_000;

/**
 * Backup target in a bucket of S3 or a compatible store. A file appears when it is complete, and is durable then. The
 * lock of the target depends on conditional writes (`If-None-Match`).
 */
export class S3Target implements BackupTarget {
  readonly location: string;
  readonly #options: S3TargetOptions;
  #loading: Promise<LoadedLibrary> | null = null;

  constructor(options: S3TargetOptions) {
    this.location = options.location;
    this.#options = options;
  }

  has(name: string): Promise<boolean> {
    return this.#call(async ({ sdk, client }) => {
      try {
        await client.send(new sdk.HeadObjectCommand(this.#objectOf(name)));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    });
  }

  write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#call(async ({ storage, client }) => {
      const params = { ...this.#objectOf(name), Body: Readable.from(parts, { objectMode: false }) };
      await new storage.Upload({ client, params, partSize: partBytes, queueSize: 2 }).done();
    });
  }

  /** A write is durable when it has succeeded. */
  flush(): Promise<void> {
    return Promise.resolve();
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void, void> {
    const body = await this.#call(async ({ sdk, client }) => {
      try {
        return (await client.send(new sdk.GetObjectCommand(this.#objectOf(name)))).Body;
      } catch (cause) {
        if (!isMissing(cause)) throw cause;
        const message = `The file ${name} is missing in the ${this.#options.noun} ${this.location}.`;
        throw new AppError('not_found', message, { cause });
      }
    });
    if (body !== undefined) for await (const part of body as Readable) yield part as Uint8Array;
  }

  async *list(folder: string): AsyncGenerator<TargetEntry, void, void> {
    const { bucket: Bucket, prefix } = this.#options;
    const Prefix = `${prefix}${folder}/`;
    let token: string | undefined;
    do {
      const request = { Bucket, Prefix, ...(token === undefined ? {} : { ContinuationToken: token }) };
      const page = await this.#call(({ sdk, client }) => client.send(new sdk.ListObjectsV2Command(request)));
      for (const { Key = '', Size: bytes = 0, LastModified } of page.Contents ?? [])
        yield { name: Key.slice(prefix.length), bytes, modifiedAt: LastModified?.getTime() ?? 0 };
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  async remove(name: string): Promise<void> {
    await this.#call(({ sdk, client }) => client.send(new sdk.DeleteObjectCommand(this.#objectOf(name))));
  }

  create(name: string, text: string): Promise<boolean> {
    return this.#call(async ({ sdk, client }) => {
      try {
        const request = { ...this.#objectOf(name), Body: text, IfNoneMatch: '*' };
        await client.send(new sdk.PutObjectCommand(request));
        return true;
      } catch (error) {
        // 409: another process is creating it right now.
        if (statusOf(error) === 412 || statusOf(error) === 409) return false;
        throw error;
      }
    });
  }

  /**
   * Aborts old uploads of several parts, which no process continues. A store bills their parts, and shows no file. The
   * lock of the target does not exclude other uploads of this process.
   */
  async removeUnfinished(): Promise<void> {
    const { bucket: Bucket, prefix: Prefix, clock } = this.#options;
    const before = clock.now() - uploadMsMax;
    await this.#call(async ({ sdk, client }) => {
      const { Uploads = [] } = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix }));
      for (const { Key, UploadId, Initiated } of Uploads)
        if (Initiated !== undefined && Initiated.getTime() < before)
          await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    });
  }

  #objectOf(name: string) {
    const { bucket, prefix } = this.#options;
    return { Bucket: bucket, Key: `${prefix}${name}` };
  }

  /** Errors: `bad_gateway` if the store cannot be reached or rejects the request. */
  async #call<Result>(work: (library: LoadedLibrary) => Promise<Result>): Promise<Result> {
    this.#loading ??= this.#load();
    const library = await this.#loading;
    try {
      return await work(library);
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const { name, message } = cause as Error;
      const reason = name === message ? name : `${name}: ${message}`;
      throw new AppError(
        'bad_gateway',
        `A request to the ${this.#options.noun} ${this.location} failed: ${reason}`,
        {
          cause,
        },
      );
    }
  }

  async #load(): Promise<LoadedLibrary> {
    const sdk = await import('@aws-sdk/client-s3');
    const storage = await import('@aws-sdk/lib-storage');
    return { sdk, storage, client: new sdk.S3Client(this.#options.config) };
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

/** A bucket that does not exist is a mistake of the operator, not a missing file. */
function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket';
}
