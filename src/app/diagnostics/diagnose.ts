import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../../config/schema.ts';
import { clock } from '../runtime.ts';
import { checkBlobHashes, checkStoreAndIndex } from './deep-checks.ts';
import { type Finding, failed, skipped } from './finding.ts';
import { checkClock, checkDisk, checkMemory, checkOpenFiles, checkTools } from './machine-checks.ts';
import { checkBackups, checkCertificate, checkFormat } from './service-checks.ts';

export type { Finding } from './finding.ts';

export interface DiagnoseOptions {
  readonly settings: Settings;
  /** Also read all data. */
  readonly isDeep: boolean;
  readonly signal: AbortSignal;
}

/** Runs the checks of an installation in order; yields each finding when it is known. */
export async function* diagnose({ settings, isDeep, signal }: DiagnoseOptions): AsyncGenerator<Finding> {
  const now = clock.now();
  const format = await checkFormat(settings);
  yield format;
  const hasData = format.state !== 'failed';
  if (hasData) yield await runCheck('disk', () => checkDisk(settings));
  yield checkMemory(settings);
  yield await checkOpenFiles(hasData ? await readServerPid(settings) : null);
  if (hasData) yield await checkClock(settings, now);
  yield checkTools(settings);
  yield await checkCertificate(settings, now);
  yield await runCheck('backups', () => checkBackups(settings, now, signal));
  if (!isDeep || !hasData) return;
  yield await checkBlobHashes(settings, signal);
  // Opening the directory would migrate it.
  if (format.state === 'ok') yield await checkStoreAndIndex(settings);
  else yield skipped('store and index', 'the data directory has an older format', format.advice);
}

async function runCheck(name: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return failed(name, message, 'Correct the cause, and run the check again.');
  }
}

/** Process ID of the running server; null if none runs. */
async function readServerPid({ data }: Settings): Promise<number | null> {
  const text = await readFile(join(data, 'quarry.pid'), 'utf8').catch(() => '');
  const pid = /^\d+/.exec(text)?.[0];
  if (pid === undefined) return null;
  const isRunning = await readFile(`/proc/${pid}/limits`).then(
    () => true,
    () => false,
  );
  return isRunning ? Number(pid) : null;
}
