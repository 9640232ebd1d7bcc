import type { GetPageInfoResponse } from '../../schemas/documents.ts';
import type { StatusResponse } from '../../schemas/status.ts';
import type { ApiClient } from '../api-client.ts';
import { type ListedDocument, listDocuments } from '../document-list.ts';
import type { ImportItem, ImportSource, SkippedItem } from './import-source.ts';
import { hashPages } from './row-fields.ts';

/**
 * The documents of a collection of another server with the same API, by `get-document-info-list` and `get-page-info`. Their
 * texts and metadata are imported, not their files.
 */
export async function openServerSource(source: ApiClient, collection: string): Promise<ImportSource> {
  const request = { collection_name: collection };
  const { num_documents: total } = await source.call<StatusResponse>('status/get-status', request);
  return {
    total,
    isSorted: true,
    settings: null,
    async *items(skip) {
      for await (const listed of listDocuments(source, { collection })) {
        const item = await readItem(source, collection, listed, skip);
        if (item !== null) yield item;
      }
    },
  };
}

async function readItem(
  source: ApiClient,
  collection: string,
  { path, metadata, index_status: status, num_pages: count }: ListedDocument,
  skip: (item: SkippedItem) => void,
): Promise<ImportItem | null> {
  const origin = 'the source';
  if (count === null) {
    skip({ origin, path, reason: `it has no text: it is ${status}` });
    return null;
  }
  const pages: string[] = [];
  for (let page_index = 0; page_index < count; page_index += 1) {
    const request = { collection_name: collection, path, page_index, include_content: true };
    const { page } = await source.call<GetPageInfoResponse>('documents/get-page-info', request);
    pages.push(page.content ?? '');
  }
  const content = count === 1 ? { type: 'text', text: pages[0]! } : { type: 'text-pages', pages };
  const document = { path, metadata, content };
  return {
    origin,
    path,
    document,
    sha256: hashPages(pages),
    file: null,
    units: JSON.stringify(document).length,
  };
}
