import { open, readFile, writeFile } from 'node:fs/promises';
import { AppError } from '../../core/app-error.ts';
import type { GetCollectionInfoResponse } from '../../schemas/collections.ts';
import type { StatusResponse } from '../../schemas/status.ts';
import { ApiClient, ApiResponseError } from '../api-client.ts';
import type { CommandContext, CommandOptions, CommandSpec } from '../command.ts';
import { collectionOption, jsonOption } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { describeRejection, importLines } from '../import-lines.ts';
import { pluralize, toPrintable } from '../text-layout.ts';
import { compareImport, type ImportComparison } from './compare-import.ts';
import { openExportSource } from './export-source.ts';
import { openFolderSource } from './folder-source.ts';
import type { CollectionSettings, ImportSource } from './import-source.ts';
import { openChromaSource, openQdrantSource, type PointSourceOptions } from './point-sources.ts';
import { type FieldMapping, parseMapping } from './row-fields.ts';
import { openElasticsearchRows, openVectorRows } from './row-sources.ts';
import { type ImportResult, runImport } from './run-import.ts';
import { openSavedReplies } from './saved-replies.ts';
import { openServerSource } from './server-source.ts';

export const importCommand: CommandSpec = {
  usage: 'import <source>',
  settings: 'client',
  summary: 'add documents from an export, JSON lines or another system to a collection',
  options: [
    collectionOption,
    {
      flags: '--from <system>',
      meaning:
        'type of the source. For server, qdrant, chroma and pgvector it is a URL; for elasticsearch and vectors, a file with one JSON row per line; for saved, a file with replies of a server with the same API; for folder, a folder of original files. Default: an export, or lines as for `documents add`',
      choices: ['server', 'qdrant', 'chroma', 'pgvector', 'elasticsearch', 'vectors', 'saved', 'folder'],
    },
    {
      flags: '--source-collection <name>',
      meaning: 'collection in the source; for rows, the default is all',
    },
    { flags: '--source-key <key>', meaning: 'API key of the source' },
    { flags: '--mapping <file>', meaning: 'JSON object with the names of the fields of rows' },
    {
      flags: '--table <file>',
      meaning:
        'metadata of the files in a folder: CSV with a header line, or JSON lines; the column path has the path of the file',
    },
    { flags: '--report <file>', meaning: 'write skipped documents to this file, one JSON object per line' },
    { flags: '--overwrite', meaning: 'replace existing documents that differ' },
    {
      flags: '--model <name>',
      meaning:
        'embedding model of a new collection; default: the model of the export, or the vectors of the source',
    },
    { flags: '--dry-run', meaning: 'change nothing; compare the source with the collection' },
    { flags: '--no-wait', meaning: 'do not wait until the documents are indexed' },
    jsonOption,
  ],
  examples: [
    'quarry import handbook.jsonl.gz --collection handbook',
    'quarry import handbook.jsonl.gz --collection handbook-copy --dry-run',
    'quarry import https://search.example.com --from server --source-collection docs --collection docs',
    'quarry import http://127.0.0.1:6333 --from qdrant --source-collection docs --collection docs',
    'quarry import rows.jsonl --from elasticsearch --collection docs --report skipped.jsonl',
    'quarry import originals/ --from folder --table metadata.csv --collection docs',
  ],
  interrupted: 'run the same command again to continue',
  run: importFile,
};

const pointSources: Readonly<Record<string, (options: PointSourceOptions) => Promise<ImportSource>>> = {
  qdrant: openQdrantSource,
  chroma: openChromaSource,
  // Loading the client of PostgreSQL takes time that other imports need not spend.
  pgvector: async (options) => (await import('./postgres-source.ts')).openPostgresSource(options),
};

const skippedShownMax = 20;
const suppliedVectors = 'vectors supplied by callers';
const modelVectors = 'vectors computed by a model';
const gzipMagic = Buffer.from([0x1f, 0x8b]);

async function importFile(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const file = args[0]!;
  if (options.from !== undefined)
    return await importFrom(context, await openSource(context, file, options), options);
  if (file === '-' || !(await isCompressed(file))) return await importLines(context, args, options);
  const source = await openExportSource(file);
  return await importFrom(context, source, options);
}

async function openSource(
  { signal }: CommandContext,
  source: string,
  options: CommandOptions,
): Promise<ImportSource> {
  const sourceCollection = options.sourceCollection === undefined ? null : String(options.sourceCollection);
  if (options.from === 'server') {
    const key = options.sourceKey === undefined ? null : String(options.sourceKey);
    const client = new ApiClient({ url: source, key, keySetting: 'apiKey', organization: null, signal });
    return await openServerSource(client, sourceCollection ?? String(options.collection));
  }
  if (options.from === 'saved') return await openSavedReplies(source, sourceCollection);
  const mapping = options.mapping === undefined ? {} : await readMapping(String(options.mapping));
  if (options.from === 'folder') {
    const table = options.table === undefined ? null : String(options.table);
    return await openFolderSource({ folder: source, table, mapping });
  }
  const openPoints = pointSources[String(options.from)];
  if (openPoints !== undefined) {
    const points = {
      url: source,
      collection: sourceCollection ?? String(options.collection),
      mapping,
      signal,
      key: options.sourceKey === undefined ? null : String(options.sourceKey),
      withVectors: options.model === undefined || options.model === 'own',
    };
    return await openPoints(points);
  }
  const rows = { file: source, mapping, sourceCollection };
  return options.from === 'vectors' ? await openVectorRows(rows) : await openElasticsearchRows(rows);
}

async function readMapping(file: string): Promise<FieldMapping> {
  try {
    return parseMapping(JSON.parse(await readFile(file, 'utf8')), file);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('bad_request', `${file} cannot be read: ${(cause as Error).message}.`, { cause });
  }
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
    collection,
    isNew,
    dryRun,
    overwrite: options.overwrite === true,
    wait: options.wait !== false,
  });
  const comparison =
    dryRun || options.wait === false
      ? null
      : await compareImport(context.api, collection, { total: source.total, samples: result.samples });
  await report(context, options, { ...result, comparison });
  const isUnsearchable = comparison !== null && comparison.searches > 0 && comparison.found === 0;
  return result.skipped.length === 0 && !isUnsearchable ? exitCodes.done : exitCodes.failed;
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
    if (settings !== null && hasOwnVectors !== (settings.embedding_model === 'own')) {
      const [found, expected] = hasOwnVectors
        ? [suppliedVectors, modelVectors]
        : [modelVectors, suppliedVectors];
      throw new AppError(
        'conflict',
        `${toPrintable(collection)} has ${found}, but the source needs ${expected}. Choose another collection.`,
      );
    }
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
  const { metadata_schema, synonyms, stop_words, curations, history_days } = settings;
  return {
    num_shards,
    embedding_model,
    ...(embedding_model === 'own' ? { dimensions } : {}),
    ...(query_defaults === undefined ? {} : { query_defaults }),
    ...(default_ttl_seconds === undefined ? {} : { default_ttl_seconds }),
    ...(metadata_schema === undefined ? {} : { metadata_schema }),
    ...(synonyms === undefined ? {} : { synonyms }),
    ...(stop_words === undefined ? {} : { stop_words }),
    ...(curations === undefined ? {} : { curations }),
    ...(history_days === undefined ? {} : { history_days }),
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
  { added, unchanged, skipped, comparison }: ImportResult & { readonly comparison: ImportComparison | null },
): Promise<void> {
  if (options.report !== undefined)
    await writeFile(String(options.report), skipped.map((item) => `${JSON.stringify(item)}\n`).join(''));
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
      `The collection has ${pluralize(status.num_documents, 'document')}, fewer than were imported: some were deleted in the meantime.\n`,
    );
  if (options.json === true)
    terminal.out(
      JSON.stringify({ added, unchanged, skipped, ...(status === null ? {} : { status }), comparison }),
    );
  else if (comparison !== null) terminal.note(`${describeComparison(comparison)}\n`);
}

function describeComparison({
  source_documents: expected,
  collection_documents: actual,
  searches,
  found,
}: ImportComparison): string {
  const counts = expected === null ? '' : `The source has ${pluralize(expected, 'document')}. `;
  return `${counts}The collection has ${pluralize(actual, 'document')}; ${found} of ${searches} sample searches found their document.`;
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
