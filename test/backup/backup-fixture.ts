import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackup } from '../../src/backup/create-backup.ts';
import { DirectoryTarget } from '../../src/backup/directory-target.ts';
import type { Manifest } from '../../src/backup/manifest.ts';
import { type ObjectCipher, ObjectStore } from '../../src/backup/object-store.ts';
import { beginRestore, finishRestore, restoreBlobs, restoreStore } from '../../src/backup/restore-files.ts';
import { type RestorePlan, replaySegments } from '../../src/backup/restore-point.ts';
import type { BackupTarget } from '../../src/backup/target.ts';
import { acquireTargetLock } from '../../src/backup/target-lock.ts';
import { BackgroundScheduler } from '../../src/core/async/background-scheduler.ts';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { putBlobReference } from '../../src/storage/blob-references.ts';
import {
  type DataDirectory,
  type DataDirectoryOptions,
  openDataDirectory,
} from '../../src/storage/data-directory.ts';
import { deleteFolder } from '../support/delete-folder.ts';
import type { Test } from '../support/tap.ts';

/** A data directory with rows and blobs, a backup target, and restores of it. */
export class BackupFixture {
  readonly folder: string;
  readonly target: DirectoryTarget;
  cipher: ObjectCipher | null = null;
  /** Time of backups. */
  clock: Clock = systemClock;
  #restores = 0;

  constructor(t: Test) {
    this.folder = mkdtempSync(join(tmpdir(), 'quarry-backup-'));
    this.target = new DirectoryTarget(join(this.folder, 'target'), systemRandom);
    t.teardown(() => deleteFolder(this.folder));
  }

  /** `journalClock`: clock of a journal of commits. */
  open(
    name = 'data',
    {
      mayBeIncomplete = false,
      journalClock,
    }: Pick<DataDirectoryOptions, 'mayBeIncomplete' | 'journalClock'> = {},
  ): Promise<DataDirectory> {
    const path = join(this.folder, name);
    return openDataDirectory({
      path,
      reserveBytes: 0,
      logger: silentLogger,
      random: systemRandom,
      mayBeIncomplete,
      ...(journalClock === undefined ? {} : { journalClock }),
    });
  }

  objects(target: BackupTarget = this.target): ObjectStore {
    return new ObjectStore({ target, cipher: this.cipher, throttle: { take: async () => {} } });
  }

  async create(source: DataDirectory, target: BackupTarget = this.target): Promise<Manifest> {
    const lock = await this.lock();
    try {
      return await createBackup({
        source,
        target,
        objects: this.objects(target),
        lock,
        clock: this.clock,
        backgroundScheduler: new BackgroundScheduler(systemClock),
        includeSecrets: true,
        onProgress: () => undefined,
      });
    } finally {
      await lock.release();
    }
  }

  lock(waitMs = 0) {
    const { target } = this;
    return acquireTargetLock({
      target,
      clock: systemClock,
      random: systemRandom,
      operation: 'test',
      waitMs,
    });
  }

  /** Restores a backup, by default without later commits, and opens the directory. */
  async restore(
    manifest: Manifest,
    plan: RestorePlan = { manifest, segments: [], point: { kind: 'newest' } },
  ): Promise<DataDirectory> {
    this.#restores += 1;
    const name = `restored-${this.#restores}`;
    const path = join(this.folder, name);
    const { id: backup, lineage, sequence } = manifest;
    const record = { backup, lineage, sequence, restoredAt: '2026-01-01T00:00:00.000Z' };
    await beginRestore(path, record);
    const objects = this.objects();
    await restoreStore(
      { path, manifest, objects, random: systemRandom, onProgress: () => undefined },
      (store) => replaySegments({ target: this.target, cipher: this.cipher }, plan, store),
    );
    const data = await this.open(name, { mayBeIncomplete: true });
    await restoreBlobs(data, objects, manifest, () => undefined);
    await finishRestore(path, record);
    return data;
  }

  /** Names of all object files of the target. */
  listObjectFiles(): string[] {
    const folder = join(this.target.location, 'objects');
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }
}

export const sha256 = (bytes: Uint8Array) => hash('sha256', bytes);

/** Writes `count` rows of `valueBytes` each, with keys that start with `prefix`. */
export async function writeRows(
  data: DataDirectory,
  prefix: string,
  count: number,
  valueBytes = 800,
): Promise<void> {
  for (let at = 0; at < count; at += 100) {
    const rows = Array.from({ length: Math.min(100, count - at) }, (_, i) => ({
      type: 'put' as const,
      key: Buffer.from(`${prefix}${String(at + i).padStart(8, '0')}`),
      value: Buffer.from(randomBytes(valueBytes / 2).toString('hex')),
    }));
    await data.store.write(rows);
  }
}

/** Stores a blob with a reference of a random document. */
export async function addBlob(data: DataDirectory, bytes: Uint8Array): Promise<string> {
  const blob = await data.blobs.put(bytes);
  await data.store.write([putBlobReference(blob.hash, systemRandom.uuid())]);
  blob.release();
  return blob.hash;
}

/** Returns all rows outside of the system table, as text, and the content hashes of all referenced blobs. */
export async function dump(data: DataDirectory): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for await (const { key, value } of data.store.range({ gte: Uint8Array.of(0x02) }))
    rows.set(Buffer.from(key).toString('latin1'), sha256(value));
  return rows;
}

/** Checks that a directory has the expected rows. Lists the first differences: `t.same` takes seconds for large maps. */
export async function checkRows(
  t: Test,
  data: DataDirectory,
  expected: ReadonlyMap<string, string>,
  message = 'the rows are the same',
): Promise<void> {
  const actual = await dump(data);
  const keys = new Set([...actual.keys(), ...expected.keys()]);
  const different = [...keys].filter((key) => actual.get(key) !== expected.get(key));
  t.same(different.slice(0, 5), [], message);
}
