import { open } from 'node:fs/promises';
import { AppError } from '../../core/app-error.ts';
import type { GetCollectionInfoResponse } from '../../schemas/collections.ts';
import type { StatusResponse } from '../../schemas/status.ts';
import { ApiResponseError } from '../api-client.ts';
import type { CommandContext, CommandOptions, CommandSpec } from '../command.ts';
import { collectionOption, jsonOption } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { describeRejection, importLines } from '../import-lines.ts';
import { pluralize, toPrintable } from '../text-layout.ts';
import { openExportSource } from './export-source.ts';
import type { CollectionSettings, ImportSource } from './import-source.ts';
import { type ImportResult, runImport } from './run-import.ts';

export const importCommand: CommandSpec = {
  usage: 'import <file>',
  settings: 'client',
  summary: 'add the documents of an export, or of JSON lines, to a collection',
  options: [
    collectionOption,
    { flags: '--overwrite', meaning: 'replace existing documents that differ' },
    { flags: '--model <name>', meaning: 'embedding model of a new collection; default: that of the export' },
    { flags: '--dry-run', meaning: 'only read the file and compare' },
    { flags: '--no-wait', meaning: 'do not wait until the documents are indexed' },
    jsonOption,
  ],
  examples: [
    'quarry import handbook.jsonl.gz --collection handbook',
    'quarry import handbook.jsonl.gz --collection handbook-copy --dry-run',
  ],
  interrupted: 'run the same command again to continue',
  run: importFile,
};

const skippedShownMax = 20;
const gzipMagic = Buffer.from([0x1f, 0x8b]);

async function importFile(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const file = args[0]!;
  if (file === '-' || !(await isCompressed(file))) return await importLines(context, args, options);
  const source = await openExportSource(file);
  return await importFrom(context, source, options);
}

/** Imports a source into the collection of the options, and prints the result. */
async function importFrom(
  context: CommandContext,
  source: ImportSource,
  options: CommandOptions,
): Promise<number> {
  const collection = String(options.collection);
  const dryRun = options.dryRun === true;
  const model = options.model === undefined ? null : String(options.model);
  const isNew = await prepareCollection(context, { collection, source, model, dryRun });
  const result = await runImport(context, source, {
    ...{ collection, isNew, dryRun },
    overwrite: options.overwrite === true,
    wait: options.wait !== false,
  });
  await report(context, options, result);
  return result.skipped.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** Creates the collection if it does not exist. Returns whether it did not exist. */
async function prepareCollection(
  { api }: CommandContext,
  {
    collection,
    source: { settings },
    model,
    dryRun,
  }: {
    readonly collection: string;
    readonly source: ImportSource;
    readonly model: string | null;
    readonly dryRun: boolean;
  },
): Promise<boolean> {
  const existing = await findCollection(api, collection);
  if (existing !== null) {
    const hasOwnVectors = existing.embedding_model === 'own';
    if (settings !== null && hasOwnVectors !== (settings.embedding_model === 'own'))
      throw new AppError(
        'conflict',
        `${toPrintable(collection)} has ${hasOwnVectors ? '' : 'no '}vectors supplied by callers, other than the documents. Choose another collection.`,
      );
    return false;
  }
  if (!dryRun)
    await api.call('collections/add-collection', {
      collection_name: collection,
      ...(settings === null ? {} : toRequest(settings)),
      ...(model === null ? {} : { embedding_model: model }),
    });
  return true;
}

function toRequest(settings: CollectionSettings) {
  const { num_shards, embedding_model, dimensions, query_defaults, default_ttl_seconds } = settings;
  return {
    num_shards,
    embedding_model,
    ...(embedding_model === 'own' ? { dimensions } : {}),
    ...(query_defaults === undefined ? {} : { query_defaults }),
    ...(default_ttl_seconds === undefined ? {} : { default_ttl_seconds }),
  };
}

async function findCollection(api: CommandContext['api'], name: string) {
  try {
    const request = { collection_name: name };
    return (await api.call<GetCollectionInfoResponse>('collections/get-collection-info', request)).collection;
  } catch (error) {
    if (error instanceof ApiResponseError && error.status === 404) return null;
    throw error;
  }
}

/** Prints the skipped documents, and compares the number of documents. */
async function report(
  { api, terminal }: CommandContext,
  options: CommandOptions,
  result: ImportResult,
): Promise<void> {
  const { added, unchanged, skipped } = result;
  for (const item of skipped.slice(0, skippedShownMax))
    terminal.note(`${toPrintable(describeRejection(item))}\n`);
  if (skipped.length > skippedShownMax)
    terminal.note(`and ${pluralize(skipped.length - skippedShownMax, 'more document')}\n`);
  const status =
    options.dryRun === true
      ? null
      : await api.call<StatusResponse>('status/get-status', { collection_name: String(options.collection) });
  if (status !== null && status.num_documents < added + unchanged)
    terminal.note(
      `The collection has ${pluralize(status.num_documents, 'document')}, fewer than were imported: some were deleted meanwhile.\n`,
    );
  if (options.json === true)
    terminal.out(JSON.stringify({ added, unchanged, skipped, ...(status === null ? {} : { status }) }));
}

async function isCompressed(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(gzipMagic.length), 0, gzipMagic.length, 0);
      return bytesRead === gzipMagic.length && buffer.equals(gzipMagic);
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new AppError('bad_request', `${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
}
