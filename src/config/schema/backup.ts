import {
  enumSetting,
  integerSetting,
  optionalSetting,
  type Setting,
  secondsSetting,
  textSetting,
} from '../setting.ts';
import { serviceUrlAllowed, serviceUrlPattern } from './url-patterns.ts';

const schedulePattern = /^(off|[1-9]\d{0,3}[mhd]|([01]\d|2[0-3]):[0-5]\d)$/;
const scheduleAllowed = 'an interval (30m, 6h, 1d), a time of day in UTC (02:30), or off';

/** Backups of the data directory. */
export const backupSettings = {
  backupTarget: optionalSetting({
    pattern: /^(?!s3:)|^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/.*)?$/,
    meaning:
      'Target of backups: a folder outside the data directory, or a bucket of S3 or a compatible store',
    allowed: 'a folder, or s3://bucket/folder',
    defaultMeaning: 'none: no scheduled backups and no journal',
  }),
  backupSchedule: textSetting('24h', {
    pattern: schedulePattern,
    meaning: 'Time of scheduled backups to QUARRY_BACKUP_TARGET',
    allowed: scheduleAllowed,
  }),
  backupKeep: optionalSetting({
    pattern:
      /^(last|hourly|daily|weekly|monthly):[1-9]\d{0,4}(,(last|hourly|daily|weekly|monthly):[1-9]\d{0,4})*$/,
    meaning: 'Backups to keep after a scheduled backup; older ones are pruned',
    allowed: 'numbers by kind, for example last:3,daily:7,weekly:4,monthly:12',
    defaultMeaning: 'all backups are kept',
  }),
  backupRehearsal: textSetting('off', {
    pattern: schedulePattern,
    meaning:
      'Time of rehearsals, which restore the newest backup into a temporary folder in the data directory, verify it and delete it',
    allowed: scheduleAllowed,
  }),
  backupJournalSeconds: secondsSetting(0, 3_600, 10, {
    meaning:
      'Interval at which new commits are copied to QUARRY_BACKUP_TARGET, for point-in-time restores; 0 disables it',
  }),
  backupJournalBytesMax: integerSetting(1_000_000, 100_000_000_000_000, 4_000_000_000, {
    meaning:
      'Maximum size of the commits that wait in the data directory while QUARRY_BACKUP_TARGET is unavailable; above it they are dropped, and the next backup starts another recoverable window',
    unit: 'bytes',
  }),
  backupBytesPerSecond: integerSetting(0, 100_000_000_000, 0, {
    meaning: 'Maximum rate at which a backup reads data; 0 for no limit',
    unit: 'bytes per second',
  }),
  backupKey: optionalSetting({
    pattern: /^[0-9a-fA-F]{64}$/,
    meaning: 'Key that encrypts backups; without it, they cannot be restored',
    allowed: '64 hexadecimal digits, for example from `openssl rand -hex 32`',
    secret: true,
    defaultMeaning: 'none: backups are not encrypted',
  }),
  backupSecrets: enumSetting(['encrypted', 'always'], 'encrypted', {
    meaning: 'Backups that contain secrets.json: encrypted backups only, or all',
  }),
  backupS3Endpoint: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'URL of a store that is compatible with S3',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'S3 of QUARRY_BACKUP_S3_REGION',
  }),
  backupS3Region: textSetting('us-east-1', {
    pattern: /^[a-z0-9-]{1,64}$/,
    meaning: 'Region of the bucket',
    allowed: 'a region of AWS, or the one that a compatible store expects',
  }),
  backupS3AccessKeyId: optionalSetting({
    meaning: 'Access key for the bucket',
    defaultMeaning: 'the credentials that the AWS SDK finds, such as the role of the instance',
  }),
  backupS3SecretAccessKey: optionalSetting({
    meaning: 'Secret key of QUARRY_BACKUP_S3_ACCESS_KEY_ID',
    secret: true,
    defaultMeaning: 'as for QUARRY_BACKUP_S3_ACCESS_KEY_ID',
  }),
} satisfies Record<string, Setting>;
