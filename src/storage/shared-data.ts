import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import type { PlainOperation } from './evaluate-group.ts';
import { deriveSecrets } from './installation-secrets.ts';
import { tables, text } from './keys.ts';
import type { FileTarget } from './shared-files.ts';
import type { WriteOperation } from './store.ts';
import { Table } from './table.ts';

/** Records about the data of a cell, which a node compares with its version, its secrets and its files. */
export interface SharedData {
  /** Format of all data; absent in a cell without data. */
  readonly format?: number;
  /** Proof of the current secret of the installation, in base64url. */
  readonly secret?: string;
  /** Content of the marker in the store of files. */
  readonly files?: string;
  /** An import that is not complete; see `importData`. */
  readonly import?: ImportState;
}

/** Progress of an import of a data directory. */
export interface ImportState {
  /** Lineage of the imported data directory. */
  readonly lineage: string;
  /** Sequence number of the imported snapshot. */
  readonly sequence: number;
  /** Last key that was copied. */
  readonly last: Uint8Array;
}

const table = new Table<readonly [name: string], number | string | ImportState>(tables.system, [text]);
const names = ['format', 'secret', 'files', 'import'] as const;
const keyNames: Readonly<Record<(typeof names)[number], string>> = {
  format: 'shared format',
  secret: 'shared secret',
  files: 'shared files',
  import: 'shared import',
};

export const sharedDataKeys: readonly Uint8Array[] = names.map((name) => table.keyOf(keyNames[name]));

/** `values`: those of `sharedDataKeys`. */
export function decodeSharedData(values: readonly (Uint8Array | undefined)[]): SharedData {
  const entries = names.flatMap((name, i) => {
    const value = values[i];
    return value === undefined ? [] : [[name, table.decodeValue([keyNames[name]], value)]];
  });
  return Object.fromEntries(entries) as SharedData;
}

export function putSharedData(data: SharedData): PlainOperation[] {
  return Object.entries(data).map(([name, value]) =>
    table.put([keyNames[name as keyof SharedData]], value as number | string | ImportState),
  );
}

/** Include it in the write with the format and the marker of the files. */
export function deleteImportState(): PlainOperation {
  return table.delete([keyNames.import]);
}

/** A process that lost the cell cannot commit, so a commit of this record proves that it still owns the cell. */
export function putOwnership(epoch: number): WriteOperation {
  return table.put(['shared owner'], epoch);
}

/** Returns a value from which the secret cannot be derived. */
export function secretProof(secret: Uint8Array): string {
  return Buffer.from(deriveSecrets([secret], 'store')[0]!).toString('base64url');
}

/** Whether one of these secrets is the one that the data were encrypted with. */
export function provesSecret(secrets: readonly Uint8Array[], proof: string): boolean {
  const expected = Buffer.from(proof);
  return secrets.some((secret) => {
    const actual = Buffer.from(secretProof(secret));
    return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
  });
}

const markerName = 'quarry.json';

/**
 * Marks the store of files as that of these data, or compares the mark. `isKnown`: it was marked before.
 *
 * Errors: AppError unavailable if it cannot be used, has the files of other data, or was replaced by an empty one, such as
 * the folder below a file system that is not mounted.
 */
export async function claimFiles(
  target: FileTarget,
  marker: string,
  { isKnown }: { readonly isKnown: boolean },
): Promise<void> {
  try {
    await claim(target, marker, isKnown);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw startupError(
      `QUARRY_FILES (${target.location}) cannot be used: ${(error as Error).message}.`,
      error,
    );
  }
}

async function claim(target: FileTarget, marker: string, isKnown: boolean): Promise<void> {
  const content = `${JSON.stringify({ id: marker })}\n`;
  const found = await readMarker(target);
  if (found === content) return;
  if (found !== null)
    throw startupError(
      `QUARRY_FILES (${target.location}) has the files of other data than the database of QUARRY_STORE. Use another folder or bucket for each database.`,
    );
  if (isKnown)
    throw startupError(
      `QUARRY_FILES (${target.location}) does not have the files of the database of QUARRY_STORE: ${markerName} is missing. Check the setting, and whether the file system is mounted.`,
    );
  if (await target.create(markerName, content)) {
    await target.flush();
    return;
  }
  throw startupError(
    `Another process has just started to use QUARRY_FILES (${target.location}). Start this one again if its database is the same.`,
  );
}

async function readMarker(target: FileTarget): Promise<string | null> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of target.read(markerName)) parts.push(part);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
  return Buffer.concat(parts).toString();
}

export function startupError(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', message, cause === undefined ? {} : { cause });
}
