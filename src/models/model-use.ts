import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../base/app-error.ts';
import { modelsFolder } from './models-folder.ts';

/** What needs each added model, as the server that ran last on a data directory noted it. */
export type ModelUse = Readonly<
  Record<
    string,
    { readonly collections: number /** New collections or queries use it. */; readonly usual: boolean }
  >
>;

function fileOf(data: string): string {
  return join(modelsFolder(data), 'in-use.json');
}

export async function noteUse(data: string, use: ModelUse): Promise<void> {
  const file = fileOf(data);
  await mkdir(modelsFolder(data), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(use)}\n`);
  await rename(`${file}.new`, file);
}

/** Throws a 409 that says what needs the model. */
export async function refuseInUse(data: string, id: string): Promise<void> {
  const { collections, usual } = (await readUse(data))[id] ?? { collections: 0, usual: false };
  const needs = [
    ...(collections === 0
      ? []
      : [`the vectors of ${collections === 1 ? 'one collection' : `${collections} collections`} are of it`]),
    ...(usual ? ['the settings name it'] : []),
  ];
  if (needs.length === 0) return;
  const other =
    collections === 0 ? '' : ' `quarry collections change-model` gives a collection those of another.';
  throw new AppError(
    'conflict',
    `The model ${JSON.stringify(id)} is in use: ${needs.join(', and ')}.${other} --force removes it all the same; until it is back, words alone answer.`,
  );
}

async function readUse(data: string): Promise<ModelUse> {
  try {
    return JSON.parse(await readFile(fileOf(data), 'utf8')) as ModelUse;
  } catch (error) {
    // No server has run with added models.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new AppError('invalid', `${fileOf(data)} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
