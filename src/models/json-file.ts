import { readFile, stat } from 'node:fs/promises';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';

/** Maximum size of a JSON file in bytes. Tokenizers of a few hundred thousand words take 35 MB. */
const jsonBytesMax = 256 * 1_048_576;

/**
 * Returns the parsed file, or null if it does not exist. Errors: AppError that names the file if it cannot be
 * read.
 */
export async function readJsonFile(path: string): Promise<unknown> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > jsonBytesMax)
      throw new AppError('too_large', `${path} has ${size} bytes; at most ${jsonBytesMax} are allowed.`);
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (hasErrorCode(cause, 'ENOENT', 'ENOTDIR')) return null;
    throw new AppError('invalid', `${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AppError('invalid', `${path} is not JSON: ${(cause as Error).message}.`, { cause });
  }
}
