import type { CommandContext, CommandOptions, CommandSpec, OptionSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import type { CatalogModel } from './hub/catalog.ts';
import { printTable } from './terminal.ts';
import { formatBytes, toPrintable } from './text-layout.ts';

export const catalogOption: OptionSpec = {
  flags: '--catalog <file>',
  meaning: 'JSON file with models of your own, listed before those of Quarry',
};

export const searchModelsCommand: CommandSpec = {
  usage: 'models search [words...]',
  settings: 'none',
  summary: 'list models that can be added or served; opens no connection',
  options: [catalogOption, jsonOption],
  examples: ['quarry models search', 'quarry models search reranker apache --json'],
  run: search,
};

/** Returns the models of the file of the user, then those of Quarry. */
export async function loadCatalog({ catalog: file }: CommandOptions): Promise<readonly CatalogModel[]> {
  const { catalog, readCatalog } = await import('./hub/catalog.ts');
  return [...(file === undefined ? [] : await readCatalog(String(file))), ...catalog];
}

async function search(
  { terminal }: CommandContext,
  words: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { searchCatalog } = await import('./hub/catalog.ts');
  const models = searchCatalog(await loadCatalog(options), words);
  if (options.json === true) {
    terminal.out(JSON.stringify({ models }));
    return exitCodes.done;
  }
  if (models.length === 0) {
    terminal.note(
      'No model of the catalog matches. For any repository, use `quarry models pull hf:organization/name`.\n',
    );
    return exitCodes.failed;
  }
  const headings = ['name', 'kind', 'runs in', '>dimensions', '>tokens', 'languages', 'license'];
  printTable(terminal, [...headings, '>size', '>memory', 'revision', 'hashes', 'source'], models.map(toRow));
  return exitCodes.done;
}

function toRow(model: CatalogModel): string[] {
  const number = (value: number | null) => (value === null ? 'unknown' : String(value));
  const bytes = (value: number | null) => (value === null ? 'unknown' : formatBytes(value));
  return [
    toPrintable(model.name),
    model.kind,
    model.runs_in,
    model.kind === 'reranker' ? '' : number(model.dimensions),
    number(model.tokens),
    toPrintable(model.languages?.join(', ') ?? 'unknown'),
    toPrintable(model.license ?? 'unknown'),
    bytes(model.bytes),
    bytes(model.memory_bytes),
    model.revision === null ? 'not pinned' : model.revision.slice(0, 12),
    model.files.length === 0 ? 'not pinned' : `SHA-256 of ${model.files.length} files`,
    model.source,
  ];
}
