import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../core/error-code.ts';
import { modelsFolder } from './models-folder.ts';
import type { GoldenOutputs } from './service-checks.ts';

/** Returns the recorded outputs of a model of a service; null if there are none. */
export async function readGoldenOutputs(data: string, model: string): Promise<GoldenOutputs | null> {
  try {
    return JSON.parse(await readFile(toPath(data, model), 'utf8')) as GoldenOutputs;
  } catch (error) {
    // An incomplete file is recorded again.
    if (error instanceof SyntaxError || hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}

export async function writeGoldenOutputs(data: string, outputs: GoldenOutputs): Promise<void> {
  const path = toPath(data, outputs.model);
  await mkdir(modelsFolder(data), { recursive: true });
  await writeFile(`${path}.new`, JSON.stringify(outputs));
  await rename(`${path}.new`, path);
}

/** Names of models of services may contain characters that file names cannot. */
function toPath(data: string, model: string): string {
  return join(modelsFolder(data), `golden-${createHash('sha256').update(model).digest('hex')}.json`);
}
