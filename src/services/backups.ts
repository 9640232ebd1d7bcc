import type { BackupManager, BackupStatus } from '../backup/backup-manager.ts';
import type { RecoverableWindow } from '../backup/journal-segments.ts';
import type { Manifest } from '../backup/manifest.ts';
import { AppError } from '../core/app-error.ts';
import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import type { BackupInfo, BackupStatusResponse, CreateBackupRequest } from '../schemas/backups.ts';
import type { AdministratorCall } from './admin.ts';

interface BackupServiceOptions {
  readonly manager: Pick<BackupManager, 'begin' | 'status'>;
  /** Whether a proof shows access to the data directory. */
  readonly isOperatorProof: (proof: string) => boolean;
}

/** Backups on request of the administrator. */
export class BackupService {
  readonly #options: BackupServiceOptions;

  constructor(options: BackupServiceOptions) {
    this.#options = options;
  }

  /**
   * Starts a backup. The administrator may use the configured target; another folder of this machine only with
   * a proof of access to the data directory. Errors: 403 without it, 409 while a backup runs.
   */
  async createBackup(_call: AdministratorCall, request: CreateBackupRequest): Promise<BackupStatusResponse> {
    const { manager, isOperatorProof } = this.#options;
    const target = request.target ?? null;
    const isOther = target !== null && target !== manager.status.target;
    if (isOther && !isOperatorProof(request.operator_proof ?? ''))
      throw new AppError(
        'forbidden',
        'A target other than QUARRY_BACKUP_TARGET requires access to the data directory. Run `quarry backup create` on the server machine, with --data set to its data directory.',
      );
    manager.begin(target);
    return toStatusResponse(manager.status);
  }

  async getBackupStatus(): Promise<BackupStatusResponse> {
    return toStatusResponse(this.#options.manager.status);
  }
}

function toStatusResponse(status: BackupStatus): BackupStatusResponse {
  const { target, running, last, lastError, nextAt, verifiedRestore, rehearsalError, recoverable } = status;
  const idle = { phase: 'waiting', bytes: 0, totalBytes: 0, storedBytes: 0 } as const;
  const progress = running?.progress ?? idle;
  return {
    target,
    running: running && {
      target: running.target,
      started_at: toTimestamp(running.startedAt),
      phase: progress.phase,
      bytes: progress.bytes,
      total_bytes: progress.totalBytes,
      stored_bytes: progress.storedBytes,
    },
    last_backup: last && toBackupInfo(last),
    last_error: lastError && { at: toTimestamp(lastError.at), message: lastError.message },
    next_at: toOptionalTimestamp(nextAt),
    recoverable: recoverable.map(toWindowInfo),
    last_verified_restore: verifiedRestore && {
      backup: verifiedRestore.backup,
      sequence: verifiedRestore.sequence,
      verified_at: toTimestamp(verifiedRestore.verifiedAt),
    },
    rehearsal_error: rehearsalError && {
      at: toTimestamp(rehearsalError.at),
      message: rehearsalError.message,
    },
  };
}

export function toBackupInfo(manifest: Manifest): BackupInfo {
  return {
    id: manifest.id,
    taken_at: toTimestamp(manifest.takenAt),
    finished_at: toTimestamp(manifest.finishedAt),
    lineage: manifest.lineage,
    sequence: manifest.sequence,
    store_bytes: manifest.storeBytes,
    files: manifest.blobCount,
    file_bytes: manifest.blobBytes,
    added_bytes: manifest.addedBytes,
    added_objects: manifest.addedObjects,
    has_secrets: manifest.hasSecrets,
  };
}

export function toWindowInfo({ from, to, fromSequence, toSequence }: RecoverableWindow) {
  return {
    from: toTimestamp(from),
    to: toTimestamp(to),
    from_sequence: fromSequence,
    to_sequence: toSequence,
  };
}
