import type { S3TargetOptions } from '../backup/s3-target.ts';

/** Settings of a bucket; null: those that the AWS SDK finds. */
interface BucketSettings {
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string | null;
  readonly secretAccessKey: string | null;
}

/** Milliseconds for opening a connection, and for a request without progress. */
const s3TimeoutMs = 60_000;

export function s3Config({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
}: BucketSettings): S3TargetOptions['config'] {
  return {
    region,
    maxAttempts: 5,
    // Compatible stores do not know the checksums that the SDK adds by default. Objects have their own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: s3TimeoutMs, requestTimeout: s3TimeoutMs },
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    ...(accessKeyId === null || secretAccessKey === null
      ? {}
      : { credentials: { accessKeyId, secretAccessKey } }),
  };
}
