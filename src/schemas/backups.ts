import { type Static, Type } from './typebox.ts';
import { Component, Count, Nullable, OneOf, Timestamp } from './wire.ts';

/** Schemas of backups. */

export const CreateBackupRequest = Component('CreateBackupRequest', 'The backup to create.', {
  target: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: 4_096 }), {
      description:
        'Target of the backup; absent or null: `QUARRY_BACKUP_TARGET`. Another target also requires `operator_proof`.',
    }),
  ),
  operator_proof: Type.Optional(
    Nullable(Type.String({ maxLength: 256 }), {
      description: 'Proof of access to the data directory, which `quarry backup create` computes.',
    }),
  ),
});
export type CreateBackupRequest = Static<typeof CreateBackupRequest>;

const BackupInfo = Component('BackupInfo', 'A complete backup.', {
  id: Type.String(),
  taken_at: Timestamp('Time of its contents.'),
  finished_at: Timestamp('Time of its completion.'),
  lineage: Type.String({ description: 'History to which its sequence number belongs.' }),
  sequence: Type.Integer({ description: 'Sequence number of its last commit.' }),
  store_bytes: Count('Bytes of the store.'),
  files: Count('Uploaded files.'),
  file_bytes: Count('Bytes of the uploaded files.'),
  added_bytes: Count('Bytes that this backup added to the target.'),
  added_objects: Count('Objects that this backup added to the target.'),
  has_secrets: Type.Boolean({ description: 'Whether it contains `secrets.json`.' }),
});
export type BackupInfo = Static<typeof BackupInfo>;

export const BackupStatusResponse = Component('BackupStatusResponse', 'State of backups.', {
  target: Nullable(Type.String(), { description: '`QUARRY_BACKUP_TARGET`.' }),
  running: Nullable(
    Type.Object({
      target: Type.String(),
      started_at: Timestamp('Start of the backup.'),
      phase: OneOf(['waiting', 'store', 'files']),
      bytes: Count('Bytes read in this phase.'),
      total_bytes: Count('Total bytes of this phase; an estimate until it ends.'),
      stored_bytes: Count('Bytes added to the target in this phase.'),
    }),
    { description: 'The backup in progress; null if there is none.' },
  ),
  last_backup: Nullable(BackupInfo, { description: 'Last complete backup of this data directory.' }),
  last_error: Nullable(Type.Object({ at: Timestamp('Time of the failure.'), message: Type.String() }), {
    description: 'Failure of the last backup; null if it succeeded.',
  }),
  next_at: Nullable(Type.String(), { description: 'Time of the next scheduled backup.' }),
  recoverable: Type.Array(
    Type.Object({
      from: Timestamp('Earliest time.'),
      to: Timestamp('Time of the last commit.'),
      from_sequence: Type.Integer(),
      to_sequence: Type.Integer(),
    }),
    { description: 'Times to which this data directory can be restored from `QUARRY_BACKUP_TARGET`.' },
  ),
  last_verified_restore: Nullable(
    Type.Object({
      backup: Type.String(),
      sequence: Type.Integer(),
      verified_at: Timestamp('End of the verification.'),
    }),
    { description: 'Last restore from the target whose verification completed.' },
  ),
  rehearsal_error: Nullable(Type.Object({ at: Timestamp('Time of the failure.'), message: Type.String() }), {
    description:
      'Failure of the last rehearsal of a restore (`QUARRY_BACKUP_REHEARSAL`); null if it succeeded.',
  }),
});
export type BackupStatusResponse = Static<typeof BackupStatusResponse>;
