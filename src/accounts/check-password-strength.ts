import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../core/app-error.ts';
import { compiledRoot } from '../core/root.ts';

/**
 * Rejects a password that is easy to guess. Runs in a thread of its own: loading the dictionaries takes about
 * 100 ms, and passwords are chosen too rarely to keep them in memory. Errors: 400 with the reason.
 */
export async function checkPasswordStrength(password: string): Promise<void> {
  const worker = new Worker(join(compiledRoot, 'workers/password-strength.js'), {
    workerData: { password },
    execArgv: [],
  });
  const weakness = await new Promise<string | null>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the password strength thread ended without a reply')));
  });
  if (weakness !== null) throw new AppError('bad_request', `This password is too weak: ${weakness}.`);
}
