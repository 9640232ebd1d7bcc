import { integerSetting, optionalSetting, type Setting, textSetting } from '../setting.ts';
import { serviceUrlAllowed, serviceUrlPattern } from './url-patterns.ts';

/** Data in PostgreSQL, and files in a shared folder or a bucket. */
export const clusterSettings = {
  store: optionalSetting({
    pattern: /^postgres(ql)?:\/\/\S+$/,
    meaning:
      'Database that holds all data; the data directory is then a cache, apart from secrets.json and models',
    allowed:
      'postgres://user:password@host:5432/database, with ?sslmode=verify-full unless the host is on the loopback interface',
    secret: true,
    defaultMeaning: 'none: RocksDB in the data directory',
  }),
  files: optionalSetting({
    pattern: /^(file:\/\/\/\S+|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/\S*)?)$/,
    meaning: 'Place of the files of documents; required with QUARRY_STORE, and only allowed with it',
    allowed: 'file:///shared/folder, or s3://bucket/folder',
    defaultMeaning: 'none: the data directory',
  }),
  filesCacheBytes: integerSetting(0, 1_000_000_000_000_000, 10_000_000_000, {
    meaning: 'Size of the copies of files of QUARRY_FILES in the data directory; files in use can exceed it',
    unit: 'bytes',
  }),
  filesS3Endpoint: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'URL of a store of QUARRY_FILES that is compatible with S3',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'S3 of QUARRY_FILES_S3_REGION',
  }),
  filesS3Region: textSetting('us-east-1', {
    pattern: /^[a-z0-9-]{1,64}$/,
    meaning: 'Region of the bucket of QUARRY_FILES',
    allowed: 'a region of AWS, or the one that a compatible store expects',
  }),
  filesS3AccessKeyId: optionalSetting({
    meaning: 'Access key for the bucket of QUARRY_FILES',
    defaultMeaning: 'the credentials that the AWS SDK finds, such as the role of the instance',
  }),
  filesS3SecretAccessKey: optionalSetting({
    meaning: 'Secret key of QUARRY_FILES_S3_ACCESS_KEY_ID',
    secret: true,
    defaultMeaning: 'as for QUARRY_FILES_S3_ACCESS_KEY_ID',
  }),
} satisfies Record<string, Setting>;
