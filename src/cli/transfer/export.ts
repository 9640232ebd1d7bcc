import { AppError } from '../../core/app-error.ts';
import type { GetCollectionInfoResponse } from '../../schemas/collections.ts';
import type { ExportDocumentsResponse, ExportedDocument } from '../../schemas/exports.ts';
import type { StatusResponse } from '../../schemas/status.ts';
import { type ApiClient, ApiResponseError } from '../api-client.ts';
import type { CommandContext, CommandOptions, CommandSpec } from '../command.ts';
import { jsonOption } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { ProgressBar } from '../progress.ts';
import { formatBytes, pluralize, toPrintable } from '../text-layout.ts';
import { ExportWriter } from './export-writer.ts';

export const exportCommand: CommandSpec = {
  usage: 'export <collection> <file>',
  settings: 'client',
  summary: 'save a collection with texts, files and metadata to one file',
  options: [jsonOption],
  examples: ['quarry export handbook handbook.jsonl.gz'],
  interrupted: 'run the same command again to continue',
  run: exportCollection,
};

/** Documents per reply; the server ends a reply earlier when it is large. */
const documentsPerReply = 256;
/** Attempts to export a document that is replaced meanwhile. */
const attemptsMax = 5;

async function exportCollection(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const [collection = '', file = ''] = args;
  const { api, terminal, clock } = context;
  const info = await api.call<GetCollectionInfoResponse>('collections/get-collection-info', {
    collection_name: collection,
  });
  const status = await api.call<StatusResponse>('status/get-status', { collection_name: collection });
  const writer = await ExportWriter.open(file, info.collection);
  const progress = new ProgressBar('Exporting', terminal, clock);
  try {
    if (writer.documents > 0) terminal.note(`Continuing after ${pluralize(writer.documents, 'document')}.\n`);
    for (;;) {
      const reply = await listFrom(api, collection, { path_gt: writer.path, limit: documentsPerReply });
      for (const document of reply) await exportDocument(api, collection, document, writer);
      if (reply.length === 0) break;
      await writer.checkpoint();
      const label = pluralize(writer.documents, 'document');
      progress.update({
        done: writer.documents,
        total: Math.max(writer.documents, status.num_documents),
        label,
      });
    }
    await writer.finish();
  } finally {
    await writer.close();
  }
  const { documents, files, bytes } = writer;
  progress.finish(
    `${pluralize(documents, 'document')} and ${pluralize(files, 'file')} exported to ${toPrintable(file)} (${formatBytes(bytes)}).`,
  );
  if (options.json === true) terminal.out(JSON.stringify({ documents, files, bytes }));
  return exitCodes.done;
}

async function listFrom(api: ApiClient, collection: string, range: object): Promise<ExportedDocument[]> {
  const request = { collection_name: collection, ...range };
  return (await api.call<ExportDocumentsResponse>('documents/export-documents', request)).documents;
}

/** Writes a document. Its file is opened first: it does not exist when the document was replaced or deleted. */
async function exportDocument(
  api: ApiClient,
  collection: string,
  listed: ExportedDocument,
  writer: ExportWriter,
): Promise<void> {
  let document: ExportedDocument | undefined = listed;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    if (document === undefined) return;
    if (document.file_url === null) return await writer.writeDocument(document, null);
    const response = await openFile(api, document.file_url);
    if (response !== null) return await writer.writeDocument(document, readBody(response, api.signal));
    // The first path with this prefix is the path itself, if it still exists.
    const [first]: ExportedDocument[] = await listFrom(api, collection, {
      path_prefix: listed.path,
      limit: 1,
    });
    document = first?.path === listed.path ? first : undefined;
  }
  throw new AppError(
    'conflict',
    `${toPrintable(listed.path)} is replaced faster than it can be exported. Run the command again to continue.`,
  );
}

/** Returns null if the file no longer exists. */
async function openFile(api: ApiClient, url: string): Promise<Response | null> {
  try {
    return await api.download(url);
  } catch (error) {
    if (error instanceof ApiResponseError && error.status === 404) return null;
    throw error;
  }
}

async function* readBody(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  for await (const part of response.body) {
    signal.throwIfAborted();
    yield part as Uint8Array;
  }
}
