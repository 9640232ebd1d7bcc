import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../../config/schema.ts';
import { AppError } from '../../core/app-error.ts';
import { formatCount } from '../../core/format.ts';
import { createLogger } from '../../core/logger.ts';
import { listReferencedBlobs } from '../../storage/blob-references.ts';
import { type DataDirectory, openDataDirectory } from '../../storage/data-directory.ts';
import { StoreLockedError } from '../../storage/rocksdb.ts';
import { checkRestored } from '../check-restored.ts';
import { ResourceStack } from '../resource-stack.ts';
import { backgroundScheduler, random } from '../runtime.ts';
import { type Finding, failed, ok, skipped } from './finding.ts';
import { formatSize } from './machine-checks.ts';

/** Checks that read all data. */

/** Number of damaged or missing files that a finding names. */
const namedFilesMax = 5;

const restoreAdvice =
  'Restore the files from a backup (`quarry backup restore`), or upload the documents again.';

/** Compares every file of a document with the SHA-256 in its name; the server may run meanwhile. */
export async function checkBlobHashes({ data }: Settings, signal: AbortSignal): Promise<Finding> {
  const folder = join(data, 'blobs');
  const damaged: string[] = [];
  let [files, bytes] = [0, 0];
  for await (const path of listBlobFiles(folder)) {
    signal.throwIfAborted();
    const found = await hashFile(path);
    if (found === null) continue;
    files += 1;
    bytes += found.bytes;
    if (!path.endsWith(found.hash)) damaged.push(path);
  }
  const detail = `${formatCount(files, 'file')} with ${formatSize(bytes)} compared with their SHA-256`;
  if (damaged.length === 0) return ok('blob hashes', detail);
  const named = damaged.slice(0, namedFilesMax).join(', ');
  return failed(
    'blob hashes',
    `${damaged.length} of ${formatCount(files, 'file')} damaged: ${named}`,
    restoreAdvice,
  );
}

async function* listBlobFiles(folder: string): AsyncGenerator<string, void, void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'incoming') yield* listBlobFiles(path);
    else if (/^[0-9a-f]{64}$/.test(entry.name)) yield path;
  }
}

/** Null: the server has deleted the file meanwhile. */
async function hashFile(path: string): Promise<{ hash: string; bytes: number } | null> {
  const digest = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      digest.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EIO') return { hash: 'unreadable', bytes };
    throw error;
  }
  return { hash: digest.digest('hex'), bytes };
}

/**
 * Opens the data directory like a server: every index must have the documents of the store, and every document its
 * file. Skipped while a server uses the directory.
 */
export async function checkStoreAndIndex(settings: Settings): Promise<Finding> {
  // To open them would take the data over from the server.
  if (settings.store !== null)
    return skipped(
      'store and index',
      'the data are in PostgreSQL',
      'Check a restored backup instead: `quarry backup restore` includes it.',
    );
  const resources = new ResourceStack();
  const logger = createLogger('error', settings.logFormat);
  try {
    const data = await openDataDirectory({
      path: settings.data,
      reserveBytes: 0,
      logger,
      random,
      backgroundScheduler,
    });
    resources.add(() => data.close());
    const missing = await findMissingBlobs(data);
    if (missing.length > 0)
      return failed(
        'store and index',
        `${missing.length} files of documents are missing: ${missing.slice(0, namedFilesMax).join(', ')}`,
        restoreAdvice,
      );
    const { collections, documents, searches } = await checkRestored(settings, resources, { data, logger });
    return ok(
      'store and index',
      `${formatCount(collections, 'collection')} with ${formatCount(documents, 'document')} compared, searches that found their document: ${searches}`,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.cause instanceof StoreLockedError)
      return skipped(
        'store and index',
        'a server uses the data directory',
        'Stop the server for this check, or check a restored backup: `quarry backup restore` includes it.',
      );
    return failed('store and index', error.message, restoreAdvice);
  } finally {
    await resources.close();
  }
}

async function findMissingBlobs({ store, blobs }: DataDirectory): Promise<string[]> {
  const missing: string[] = [];
  for await (const hash of listReferencedBlobs(store)) {
    const path = blobs.path(hash);
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (!exists) missing.push(path);
  }
  return missing;
}
