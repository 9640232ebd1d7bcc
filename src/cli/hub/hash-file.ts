import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { PlannedFile } from './select-files.ts';

/** Returns the hash of a file in hexadecimal. The hash of Git covers the size as well. */
export async function hashFile(
  path: string,
  algorithm: PlannedFile['hash']['algorithm'],
  bytes: number,
): Promise<string> {
  const hash = createHash(algorithm === 'sha256' ? 'sha256' : 'sha1');
  if (algorithm === 'git-sha1') hash.update(`blob ${bytes}\0`);
  await pipeline(createReadStream(path), async (parts) => {
    for await (const part of parts) hash.update(part as Buffer);
  });
  return hash.digest('hex');
}
