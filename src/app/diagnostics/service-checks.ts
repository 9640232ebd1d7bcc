import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSchedule } from '../../backup/backup-schedule.ts';
import { readManifests } from '../../backup/manifest.ts';
import { readVerifiedRestore } from '../../backup/verified-restore.ts';
import type { Settings } from '../../config/schema.ts';
import { AppError } from '../../core/app-error.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import { parseCertificate, readCertificateFiles } from '../../http/certificate.ts';
import { currentFormat } from '../../storage/migrations.ts';
import { openTarget } from '../backup-target.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** Checks of the data directory, the certificate and the backups. */

const dayMs = 86_400_000;
/** Days of validity below which a certificate should have been renewed. */
const certificateDays = { warning: 14, failure: 3 };
const verifiedRestoreDaysMax = 90;

export async function checkFormat({ data }: Settings): Promise<Finding> {
  const text = await readFile(join(data, 'format.json'), 'utf8').catch(() => null);
  if (text === null)
    return failed(
      'data directory',
      `${data} is not a Quarry data directory`,
      'Set --data or QUARRY_DATA to the folder of the server.',
    );
  const format = Number(/"format":\s*(\d+)/.exec(text)?.[1] ?? Number.NaN);
  const detail = `${data} has format ${format}; this version writes format ${currentFormat}`;
  if (format === currentFormat) return ok('data directory', detail);
  if (format < currentFormat)
    return warning('data directory', detail, 'Run `quarry upgrade --check` before you start this version.');
  return failed('data directory', detail, 'Run the newer version that wrote it.');
}

export async function checkCertificate(
  { tlsCertificateFile, tlsKeyFile }: Settings,
  now: number,
): Promise<Finding> {
  if (tlsCertificateFile === null || tlsKeyFile === null)
    return skipped('tls', 'QUARRY_TLS_CERTIFICATE_FILE is not set: the server speaks HTTP');
  const files = { certificateFile: tlsCertificateFile, keyFile: tlsKeyFile };
  try {
    const certificate = parseCertificate(files, await readCertificateFiles(files), now);
    const days = Math.floor((certificate.expiresAt - now) / dayMs);
    const detail = `certificate of ${certificate.names} expires at ${toTimestamp(certificate.expiresAt)}, in ${days} days`;
    const advice = 'Renew the certificate; the server reads changed files automatically.';
    if (days < certificateDays.failure) return failed('tls', detail, advice);
    if (days < certificateDays.warning) return warning('tls', detail, advice);
    const { mode } = await stat(tlsKeyFile);
    if ((mode & 0o007) === 0) return ok('tls', detail);
    return warning('tls', `${detail}; all users can read the key`, `Run \`chmod o= ${tlsKeyFile}\`.`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failed(
      'tls',
      error.message,
      'Correct the files. A running server keeps its previous certificate.',
    );
  }
}

export async function checkBackups(settings: Settings, now: number, signal: AbortSignal): Promise<Finding> {
  const { backupTarget, backupSchedule } = settings;
  if (backupTarget === null)
    return warning(
      'backups',
      'QUARRY_BACKUP_TARGET is not set: no scheduled backups',
      'Set it to a folder on another disk, see docs/operate/backup.md.',
    );
  try {
    const { target } = openTarget(backupTarget, settings, signal);
    const newest = Math.max(0, ...(await readManifests(target)).map(({ takenAt }) => takenAt));
    if (newest === 0) return failed('backups', `no backup in ${backupTarget}`, 'Run `quarry backup create`.');
    const restore = await readVerifiedRestore(target);
    const restored = restore === null ? 'none' : toTimestamp(restore.verifiedAt);
    const detail = `last backup ${toTimestamp(newest)}, last verified restore ${restored}`;
    const nextAt = parseSchedule(backupSchedule)?.(newest, now) ?? null;
    // One missed backup is late, not lost: the server may have been stopped.
    if (nextAt !== null && now > nextAt + (nextAt - newest))
      return failed(
        'backups',
        `${detail}; the next one was due at ${toTimestamp(nextAt)} (QUARRY_BACKUP_SCHEDULE)`,
        'See `backup failed` in the log of the server, then run `quarry backup create`.',
      );
    if (restore === null || now - restore.verifiedAt > verifiedRestoreDaysMax * dayMs)
      return warning(
        'backups',
        detail,
        'Run `quarry backup restore` into a new folder: only a restore shows that a backup is usable.',
      );
    return ok('backups', detail);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failed('backups', error.message, 'Check that the target is mounted and readable.');
  }
}
