import { rm } from 'node:fs/promises';

/**
 * Deletes a folder in which a process that was just killed, or one that such a process started, may still write.
 * `rmSync` cannot: its retries do not delete the files that were added.
 */
export async function deleteFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
}
