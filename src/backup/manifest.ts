import { createHash } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import { type BackupTarget, piecesOf, readWhole } from './target.ts';

export const backupsFolder = 'backups';
/** Version of the layout of a backup target. A newer one is rejected. */
export const formatVersion = 1;

/** File of the data directory other than the store and the blobs. */
export interface BackedUpFile {
  /** Path below the data directory, with slashes. */
  readonly path: string;
  readonly hash: string;
  readonly bytes: number;
}

/** Description of one backup; written last, so that a backup with a manifest is complete. */
export interface Manifest {
  readonly format: number;
  readonly id: string;
  /** History to which the sequence numbers belong; a restored data directory starts another one. */
  readonly lineage: string;
  /** Sequence number of the last commit in the backup. */
  readonly sequence: number;
  /** Time of the snapshot in milliseconds since the epoch. */
  readonly takenAt: number;
  readonly finishedAt: number;
  /** Format of the data directory. */
  readonly dataFormat: number;
  /** Number of entries by table (first byte of the keys). */
  readonly entries: Readonly<Record<string, number>>;
  readonly storeBytes: number;
  /** List objects: lines [hash, table, entries, bytes]. */
  readonly ranges: readonly string[];
  readonly blobCount: number;
  readonly blobBytes: number;
  /** List objects: lines [hash, bytes]. */
  readonly blobs: readonly string[];
  readonly files: readonly BackedUpFile[];
  /** Recognizes the key of its objects; null without encryption. */
  readonly keyCheck: string | null;
  /** Whether secrets.json is one of the files. */
  readonly hasSecrets: boolean;
  /** Bytes and objects that this backup added to the target. */
  readonly addedBytes: number;
  readonly addedObjects: number;
}

/** Sorts like the time of the snapshot. */
export function createBackupId(takenAt: number, sequence: number): string {
  return `${new Date(takenAt).toISOString().replace(/[-:.]/g, '')}-${sequence}`;
}

const idPattern = /^\d{8}T\d{9}Z-\d{1,16}$/;

function fileOf(id: string): string {
  return `${backupsFolder}/${id}.json`;
}

export async function writeManifest(target: BackupTarget, manifest: Manifest): Promise<void> {
  const text = JSON.stringify(manifest);
  const sha256 = createHash('sha256').update(text).digest('hex');
  const file = `${JSON.stringify({ sha256 })}\n${text}\n`;
  // Everything that the manifest names must be durable before it.
  await target.flush();
  await target.write(fileOf(manifest.id), piecesOf(Buffer.from(file)));
  await target.flush();
}

/** Errors: `not_found`, or `bad_gateway` when the file is damaged or from a newer version. */
export async function readManifest(target: BackupTarget, id: string): Promise<Manifest> {
  if (!idPattern.test(id)) throw new AppError('bad_request', `${JSON.stringify(id)} is not a backup ID.`);
  const name = fileOf(id);
  const [head = '', text = ''] = (await readWhole(target, name)).toString('utf8').split('\n');
  const sha256 = createHash('sha256').update(text).digest('hex');
  if (head !== JSON.stringify({ sha256 }))
    throw new AppError('bad_gateway', `The manifest ${name} is damaged: its SHA-256 differs.`);
  const manifest = JSON.parse(text) as Manifest;
  if (manifest.format > formatVersion)
    throw new AppError(
      'bad_gateway',
      `The backup ${id} has format ${manifest.format}, written by a newer Quarry version. This version supports format ${formatVersion}. Use the newer version.`,
    );
  return manifest;
}

/** Errors: `bad_request` unless the settings have the key of the backup. */
export function checkKey(
  { id, keyCheck }: Pick<Manifest, 'id' | 'keyCheck'>,
  objects: { readonly keyCheck: string | null },
): void {
  if (keyCheck === objects.keyCheck) return;
  const state = keyCheck === null ? 'is not encrypted' : 'is encrypted with another key';
  throw new AppError(
    'bad_request',
    `The backup ${id} ${state}. Set QUARRY_BACKUP_KEY to the key of the target, or use another target.`,
  );
}

/** Returns the IDs of all backups, oldest first. */
export async function listBackupIds(target: BackupTarget): Promise<string[]> {
  const ids: string[] = [];
  for await (const { name } of target.list(backupsFolder)) {
    const id = name.slice(backupsFolder.length + 1).replace(/\.json$/, '');
    if (idPattern.test(id)) ids.push(id);
  }
  return ids.sort();
}

/** Reads all manifests, oldest first. Backups that another process prunes meanwhile are skipped. */
export async function readManifests(target: BackupTarget): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for (const id of await listBackupIds(target)) {
    try {
      manifests.push(await readManifest(target, id));
    } catch (error) {
      if (await hasManifest(target, id)) throw error;
    }
  }
  return manifests.sort((a, b) => a.takenAt - b.takenAt);
}

export function hasManifest(target: BackupTarget, id: string): Promise<boolean> {
  return target.has(fileOf(id));
}

export function removeManifest(target: BackupTarget, id: string): Promise<void> {
  return target.remove(fileOf(id));
}
