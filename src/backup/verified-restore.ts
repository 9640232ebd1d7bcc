import { AppError } from '../core/app-error.ts';
import { type BackupTarget, piecesOf, readWhole } from './target.ts';

const recordFile = 'last-verified-restore.json';

/** The last restore from a target that was verified completely. */
export interface VerifiedRestore {
  readonly backup: string;
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly verifiedAt: number;
}

export async function recordVerifiedRestore(target: BackupTarget, restore: VerifiedRestore): Promise<void> {
  await target.write(recordFile, piecesOf(Buffer.from(`${JSON.stringify(restore)}\n`)));
  await target.flush();
}

/** Null if no restore was verified yet. */
export async function readVerifiedRestore(target: BackupTarget): Promise<VerifiedRestore | null> {
  try {
    return JSON.parse((await readWhole(target, recordFile)).toString('utf8')) as VerifiedRestore;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
