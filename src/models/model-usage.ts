import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { hasErrorCode } from '../core/error-code.ts';
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
  const { collections, usual: isDefault } = (await readModelUsage(dataFolder))[id] ?? {
    collections: 0,
    usual: false,
  };
  const uses = [
    ...(collections === 0
      ? []
      : [
          collections === 1
            ? 'one collection uses its vectors'
            : `${collections} collections use its vectors`,
        ]),
    ...(isDefault ? ['the settings refer to it'] : []),
  ];
  if (uses.length === 0) return;
  const hint =
    collections === 0 ? '' : ' Use `quarry collections change-model` to move a collection to another model.';
  throw new AppError(
    'conflict',
    `The model ${JSON.stringify(id)} is in use: ${uses.join(' and ')}.${hint} Use --force to remove it anyway; affected collections then use lexical search only.`,
  );
}

async function readModelUsage(dataFolder: string): Promise<ModelUsage> {
  try {
    return JSON.parse(await readFile(getUsagePath(dataFolder), 'utf8')) as ModelUsage;
  } catch (error) {
    // No server has run with added models.
    if (hasErrorCode(error, 'ENOENT')) return {};
    throw new AppError(
      'invalid',
      `${getUsagePath(dataFolder)} cannot be read: ${(error as Error).message}.`,
      {
        cause: error,
      },
    );
  }
}
