import { readFile, stat } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';

/** Bytes of the largest file with JSON that is read: tokenizers of a few hundred thousand words take 35 MB. */
const jsonBytesMax = 256 * 1_048_576;

/** What a file holds, null when there is none. An AppError names one that cannot be read. */
export async function readJsonFile(path: string): Promise<unknown> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > jsonBytesMax)
      throw new AppError('too_large', `${path} is ${size} bytes; at most ${jsonBytesMax} are read.`);
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return null;
    throw new AppError('invalid', `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AppError('invalid', `${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
}
