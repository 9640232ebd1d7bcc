import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../core/app-error.ts';
import { hasErrorCode } from '../../core/error-code.ts';
import { whileDiskHasSpace } from './disk-space.ts';
import { hashFile } from './hash-file.ts';
import { discard, type HubClient, type OpenedFile } from './hub-client.ts';
import { HubError } from './hub-error.ts';
import { repeatRequests } from './repeat.ts';
import type { DownloadPlan, PlannedFile } from './select-files.ts';

export interface DownloadOptions {
  readonly client: Pick<HubClient, 'openFile'>;
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Called with the bytes on disk of all files. */
  readonly onProgress: (bytes: number) => void;
  /** See `RepeatOptions`. */
  readonly waitMsFirst?: number;
}

/** Content that is not what the hub, or the catalog, promised. */
class WrongContentError extends Error {
  override readonly name = 'WrongContentError';
}

/**
 * Downloads the files of a plan into a folder, one after the other. Files and parts of files that an earlier run left
 * there are used. A file gets its name when its hash is correct. Errors: AppError.
 */
export async function downloadFiles(plan: DownloadPlan, options: DownloadOptions): Promise<void> {
  let finishedBytes = 0;
  for (const file of plan.files) {
    const target = join(options.folder, file.path);
    await mkdir(dirname(target), { recursive: true });
    const earlierBytes = finishedBytes;
    const onProgress = (bytes: number) => options.onProgress(earlierBytes + bytes);
    await whileDiskHasSpace(target, () => obtainFile(plan, file, { ...options, onProgress }, target));
    finishedBytes += file.bytes;
    options.onProgress(finishedBytes);
  }
}

/** Returns the bytes of a plan that the folder does not have. */
export async function countMissingBytes({ files }: DownloadPlan, folder: string): Promise<number> {
  let missing = 0;
  for (const { path, bytes } of files) {
    const target = join(folder, path);
    const stored = Math.max(await sizeOf(target), await sizeOf(partOf(target)));
    missing += Math.max(0, bytes - stored);
  }
  return missing;
}

async function obtainFile(
  plan: DownloadPlan,
  file: PlannedFile,
  options: DownloadOptions,
  target: string,
): Promise<void> {
  const part = partOf(target);
  if ((await sizeOf(target)) > 0) await rename(target, part);
  if ((await sizeOf(part)) > file.bytes) await rm(part);
  const wasStarted = (await sizeOf(part)) > 0;
  try {
    await completePart(plan, file, options, part);
    await verify(file, part);
  } catch (error) {
    if (!(error instanceof WrongContentError)) throw error;
    await rm(part, { force: true });
    // The part of an earlier run may be damaged, or from a file that has changed.
    if (wasStarted) return obtainFile(plan, file, options, target);
    throw new AppError('conflict', `${file.path} of ${plan.repository} was discarded: ${error.message}.`, {
      cause: error,
    });
  }
  await rename(part, target);
}

/** Requests the rest of the file until it is complete. */
async function completePart(
  { repository, commit }: DownloadPlan,
  file: PlannedFile,
  options: DownloadOptions,
  part: string,
): Promise<void> {
  const { client, signal, waitMsFirst } = options;
  if (file.bytes === 0) return writeFile(part, '');
  const countStored = () => sizeOf(part);
  const repeat = { signal, countStored, ...(waitMsFirst === undefined ? {} : { waitMsFirst }) };
  await repeatRequests(repeat, async () => {
    const offset = await countStored();
    if (offset === file.bytes) return;
    const opened = await client.openFile(repository, { commit, path: file.path, offset });
    await appendRest(opened, { file, part, offset, options });
  });
}

async function appendRest(
  opened: OpenedFile,
  {
    file,
    part,
    offset,
    options,
  }: {
    readonly file: PlannedFile;
    readonly part: string;
    readonly offset: number;
    readonly options: DownloadOptions;
  },
): Promise<void> {
  const { start, bytes, body } = opened;
  if (bytes !== null && start + bytes !== file.bytes) {
    discard(body);
    throw new WrongContentError(`the hub sends ${start + bytes} bytes instead of ${file.bytes}`);
  }
  // A hub without ranges sends the file from its start.
  const writer = createWriteStream(part, { flags: start === offset ? 'a' : 'w' });
  let received = start;
  async function* limit(parts: Readable): AsyncGenerator<Buffer> {
    for await (const piece of parts) {
      received += (piece as Buffer).length;
      if (received > file.bytes) throw new WrongContentError(`the hub sends more than ${file.bytes} bytes`);
      options.onProgress(received);
      yield piece as Buffer;
    }
  }
  await pipeline(body, limit, writer, { signal: options.signal });
  if (received < file.bytes)
    throw new HubError(`the connection ended after ${received} of ${file.bytes} bytes`, { mayRetry: true });
}

async function verify({ path, bytes, hash }: PlannedFile, part: string): Promise<void> {
  const found = await hashFile(part, hash.algorithm, bytes);
  if (found === hash.hex) return;
  const name = hash.algorithm === 'sha256' ? 'SHA-256' : 'Git hash';
  throw new WrongContentError(`the ${name} of ${path} is ${found} instead of ${hash.hex}`);
}

function partOf(target: string): string {
  return `${target}.part`;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return 0;
    throw error;
  }
}
