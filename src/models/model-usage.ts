import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { modelsFolder } from './models-folder.ts';

/**
 * Usage of each added model, as written by the last server that ran on the data directory. `usual`: whether new
 * collections or queries use the model by default.
 */
export type ModelUsage = Readonly<Record<string, { readonly collections: number; readonly usual: boolean }>>;

function getUsagePath(dataFolder: string): string {
  return join(modelsFolder(dataFolder), 'in-use.json');
}

export async function writeModelUsage(dataFolder: string, usage: ModelUsage): Promise<void> {
  const file = getUsagePath(dataFolder);
  await mkdir(modelsFolder(dataFolder), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(usage)}\n`);
  await rename(`${file}.new`, file);
}

/** Errors: 409 that lists the uses of the model. */
export async function checkNotInUse(dataFolder: string, id: string): Promise<void> {
  const { collections, usual } = (await readModelUsage(dataFolder))[id] ?? { collections: 0, usual: false };
  const uses = [
    ...(collections === 0
      ? []
      : [`the vectors of ${collections === 1 ? 'one collection' : `${collections} collections`} are of it`]),
    ...(usual ? ['the settings name it'] : []),
  ];
  if (uses.length === 0) return;
  const hint =
    collections === 0 ? '' : ' `quarry collections change-model` gives a collection those of another.';
  throw new AppError(
    'conflict',
    `The model ${JSON.stringify(id)} is in use: ${uses.join(', and ')}.${hint} --force removes it all the same; until it is back, words alone answer.`,
  );
}

async function readModelUsage(dataFolder: string): Promise<ModelUsage> {
  try {
    return JSON.parse(await readFile(getUsagePath(dataFolder), 'utf8')) as ModelUsage;
  } catch (error) {
    // No server has run with added models.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new AppError('invalid', `${getUsagePath(dataFolder)} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
