import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../core/app-error.ts';
import { documentSortFields } from '../core/document-sort-fields.ts';
import { limits } from '../core/limits.ts';
import type { DeleteDocumentResponse, GetDocumentInfoResponse } from '../schemas/documents.ts';
import { requireConfirmation } from './collections.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { collectionOption, jsonOption, yesOption } from './command.ts';
import { countFacets, hasFailed, type ListedDocument, listDocuments } from './document-list.ts';
import { exitCodes } from './exit-codes.ts';
import { facetLines } from './facet-lines.ts';
import { importLines } from './import-lines.ts';
import { jsonObjectOption } from './option-values.ts';
import { facetOption, readFacetOption, readSortOption } from './order-options.ts';
import { printTable } from './terminal.ts';
import { formatBytes, pluralize, toPrintable } from './text-layout.ts';

export const documentCommands: readonly CommandSpec[] = [
  {
    usage: 'documents list',
    settings: 'client',
    summary: 'list the documents of a collection',
    options: [
      collectionOption,
      { flags: '--prefix <text>', meaning: 'only paths with this prefix' },
      { flags: '--failed', meaning: 'only documents that could not be parsed or indexed, with the reason' },
      {
        flags: '--sort <field>',
        meaning: 'order by a metadata field instead of the path; -field is descending; repeat to break ties',
        isRepeatable: true,
      },
      {
        flags: '--sort-by <property>',
        meaning: 'order by this property',
        choices: documentSortFields,
        conflicts: ['sort'],
      },
      { flags: '--descending', meaning: 'reverse the order of --sort-by' },
      { ...facetOption, conflicts: ['json'] },
      { flags: '--json', meaning: 'print one JSON object per line' },
    ],
    examples: [
      'quarry documents list --collection handbook',
      'quarry documents list --failed',
      'quarry documents list --sort -year --facet author',
      'quarry documents list --sort-by size --descending',
    ],
    run: list,
  },
  {
    usage: 'documents add <file>',
    settings: 'client',
    summary: 'add documents from a file with one JSON object per line; use - for standard input',
    options: [
      collectionOption,
      { flags: '--overwrite', meaning: 'replace existing documents' },
      { flags: '--no-wait', meaning: 'do not wait until the documents are indexed' },
      jsonOption,
    ],
    examples: [
      'quarry documents add notes.jsonl --collection vectors',
      'echo \'{"path": "a.txt", "text": "Salted herring.", "vector": [0.1, 0.9], "metadata": {"year": "2025"}}\' | quarry documents add -',
    ],
    interrupted: 'added documents are kept; use --overwrite to start over',
    run: importLines,
  },
  {
    usage: 'documents get <path>',
    settings: 'client',
    summary: 'show one document',
    options: [
      collectionOption,
      { flags: '--content', meaning: 'print only the text', conflicts: ['output'] },
      { flags: '-o, --output <file>', meaning: 'save the raw file to this path' },
      jsonOption,
    ],
    examples: [
      'quarry documents get guides/refunds.pdf',
      'quarry documents get guides/refunds.pdf -o refunds.pdf',
    ],
    run: get,
  },
  {
    usage: 'documents delete <paths...>',
    settings: 'client',
    summary: 'delete documents',
    options: [collectionOption, yesOption, jsonOption],
    examples: ['quarry documents delete guides/old.pdf --yes'],
    run: remove,
  },
  {
    usage: 'documents update <path>',
    settings: 'client',
    summary: 'replace the metadata or the expiry time of an indexed document',
    options: [
      collectionOption,
      { flags: '--metadata <json>', meaning: 'new metadata; replaces all existing metadata' },
      { flags: '--expires-at <time>', meaning: 'expiry time, such as 2027-01-31T12:00:00Z; never: none' },
      jsonOption,
    ],
    examples: [
      'quarry documents update guides/refunds.pdf --metadata \'{"author": "Ada", "list:topics": ["refunds"]}\'',
    ],
    run: update,
  },
  {
    usage: 'documents retry [paths...]',
    settings: 'client',
    summary: 'retry failed documents; without paths, all of the collection',
    options: [collectionOption, jsonOption],
    examples: ['quarry documents retry --collection handbook', 'quarry documents retry guides/refunds.pdf'],
    run: retry,
  },
];

async function list(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const rows: string[][] = [];
  const request = {
    collection: String(options.collection),
    ...(options.prefix === undefined ? {} : { prefix: String(options.prefix) }),
    onlyFailed: options.failed === true,
    order: readListOrder(options),
  };
  for await (const document of listDocuments(context.api, request)) {
    if (options.json === true) context.terminal.out(JSON.stringify(document));
    else rows.push([document.path, document.index_status, ...formatDocumentCells(document)]);
  }
  if (options.json === true) return exitCodes.done;
  if (rows.length === 0) context.terminal.out('No documents found.');
  else printTable(context.terminal, ['Path', 'Status', '>Size', '>Pages', 'Error'], rows);
  const facetRequest = readFacetOption(options);
  if (Object.keys(facetRequest).length === 0) return exitCodes.done;
  for (const facet of await countFacets(context.api, request, facetRequest)) {
    context.terminal.out('');
    facetLines(facet).forEach(context.terminal.out);
  }
  return exitCodes.done;
}

function readListOrder(options: CommandOptions): Record<string, unknown> {
  if (options.descending === true && options.sortBy === undefined)
    throw new AppError(
      'bad_request',
      '--descending requires --sort-by. For metadata, write a minus before the field: --sort -year.',
    );
  return {
    ...readSortOption(options),
    ...(options.sortBy === undefined ? {} : { sort_by: String(options.sortBy) }),
    ...(options.descending === true ? { descending: true } : {}),
  };
}

function formatDocumentCells(document: ListedDocument): string[] {
  return [formatBytes(document.size), String(document.num_pages ?? '-'), document.error ?? ''];
}

async function get(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { document } = await context.api.call<GetDocumentInfoResponse>('documents/get-document-info', {
    collection_name: String(options.collection),
    path: args[0]!,
    include_content: options.content === true,
  });
  if (options.output !== undefined) {
    await download(context, document.file_url, String(options.output));
    return exitCodes.done;
  }
  if (options.json === true) {
    context.terminal.out(JSON.stringify(document));
    return exitCodes.done;
  }
  if (options.content === true) {
    if (document.content === null || document.content === undefined) {
      throw new AppError(
        'not_found',
        `The text of ${toPrintable(document.path)} is not available: the document is ${document.index_status}.`,
      );
    }
    context.terminal.out(document.content);
    return exitCodes.done;
  }
  const facts: [string, string][] = [
    ['Path', document.path],
    ['ID', document.id],
    ['Status', document.index_status],
    ['Error', document.error ?? '-'],
    ...(document.waiting_for === undefined
      ? []
      : [['Waiting for', document.waiting_for] as [string, string]]),
    ['Size', formatBytes(document.size)],
    ['Pages', String(document.num_pages ?? '-')],
    ['Metadata', JSON.stringify(document.metadata)],
    ['File', document.file_url],
  ];
  facts.map(([name, value]) => `${name.padEnd(10)}${toPrintable(value)}`).forEach(context.terminal.out);
  return exitCodes.done;
}

async function download(context: CommandContext, url: string, file: string): Promise<void> {
  const response = await context.api.send(url, {});
  if (response.body === null) throw new AppError('unavailable', `${url} returned an empty reply.`);
  try {
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file, { flags: 'wx' }), {
      signal: context.signal,
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new AppError('conflict', `${file} already exists. Choose another file.`, { cause });
  }
}

async function remove(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  if (options.yes !== true)
    await requireConfirmation(context, `Delete ${pluralize(args.length, 'document')}?`);
  const deleted: string[] = [];
  for (let start = 0; start < args.length; start += limits.deletePathsMax) {
    const reply = await context.api.call<DeleteDocumentResponse>('documents/delete-document', {
      collection_name: String(options.collection),
      path: args.slice(start, start + limits.deletePathsMax),
    });
    deleted.push(...reply.deleted_paths);
  }
  if (options.json === true) context.terminal.out(JSON.stringify({ deleted_paths: deleted }));
  else deleted.map((path) => `${toPrintable(path)} deleted.`).forEach(context.terminal.out);
  const missing = new Set(args).size - new Set(deleted).size;
  if (missing > 0) context.terminal.note(`${pluralize(missing, 'document')} did not exist.\n`);
  return missing > 0 ? exitCodes.failed : exitCodes.done;
}

async function update(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const metadata = jsonObjectOption(options, 'metadata');
  const expiresAt = options.expiresAt === 'never' ? null : options.expiresAt;
  if (metadata === null && expiresAt === undefined)
    throw new AppError('bad_request', 'Nothing to update. Set --metadata <json> or --expires-at <time>.');
  const reply = await context.api.call('documents/update-document', {
    collection_name: String(options.collection),
    path: args[0]!,
    ...(metadata === null ? {} : { metadata }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  });
  const changed = metadata === null ? 'Expiry time' : 'Metadata';
  context.terminal.out(
    options.json === true ? JSON.stringify(reply) : `${changed} of ${toPrintable(args[0]!)} updated.`,
  );
  return exitCodes.done;
}

async function retry(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const collection = String(options.collection);
  const retried: string[] = [];
  for (const document of await failedDocuments(context, collection, args)) {
    await context.api.call('documents/update-document', {
      collection_name: collection,
      path: document.path,
      index_status: document.index_status === 'parsing_failed' ? 'not_parsed' : 'not_indexed',
    });
    retried.push(document.path);
  }
  if (options.json === true) context.terminal.out(JSON.stringify({ retried_paths: retried }));
  else context.terminal.out(`${pluralize(retried.length, 'document')} queued for retry.`);
  return exitCodes.done;
}

async function failedDocuments(context: CommandContext, collection: string, paths: readonly string[]) {
  const failed: { path: string; index_status: string }[] = [];
  if (paths.length === 0) {
    for await (const document of listDocuments(context.api, { collection, onlyFailed: true }))
      failed.push(document);
    return failed;
  }
  for (const path of paths) {
    const { document } = await context.api.call<GetDocumentInfoResponse>('documents/get-document-info', {
      collection_name: collection,
      path,
    });
    if (!hasFailed(document)) {
      throw new AppError(
        'conflict',
        `${toPrintable(path)} is ${document.index_status}; only failed documents can be retried.`,
      );
    }
    failed.push(document);
  }
  return failed;
}
