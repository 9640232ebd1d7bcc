import {
  enumSetting,
  integerSetting,
  optionalSetting,
  type Setting,
  secondsSetting,
  textSetting,
} from '../setting.ts';

/** Backups of the data directory. */
export const backupSettings = {
  backupTarget: optionalSetting({
    meaning: 'Target of backups: a folder outside the data directory',
    allowed: 'a folder',
    defaultMeaning: 'none: no scheduled backups and no journal',
  }),
  backupSchedule: textSetting('24h', {
    pattern: /^(off|[1-9]\d{0,3}[mhd]|([01]\d|2[0-3]):[0-5]\d)$/,
    meaning: 'Time of scheduled backups to QUARRY_BACKUP_TARGET',
    allowed: 'an interval (30m, 6h, 1d), a time of day in UTC (02:30), or off',
  }),
  backupKeep: optionalSetting({
    pattern:
      /^(last|hourly|daily|weekly|monthly):[1-9]\d{0,4}(,(last|hourly|daily|weekly|monthly):[1-9]\d{0,4})*$/,
    meaning: 'Backups to keep after a scheduled backup; older ones are pruned',
    allowed: 'numbers by kind, for example last:3,daily:7,weekly:4,monthly:12',
    defaultMeaning: 'all backups are kept',
  }),
  backupJournalSeconds: secondsSetting(0, 3_600, 10, {
    meaning:
      'Interval at which new commits are copied to QUARRY_BACKUP_TARGET, for restores to any moment; 0 disables it',
  }),
  backupJournalBytesMax: integerSetting(1_000_000, 100_000_000_000_000, 4_000_000_000, {
    meaning:
      'Size of the commits that wait in the data directory while QUARRY_BACKUP_TARGET is unavailable; above it they are dropped, and the next backup starts another recoverable window',
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
} satisfies Record<string, Setting>;
