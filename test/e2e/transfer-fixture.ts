import { createHash } from 'node:crypto';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import { base64, sentence } from './documents-fixture.ts';

/** Documents of every kind, and all replies about the documents of a collection without ids and times. */

const html =
  '<html lang="de"><title>Steinbruch</title><h1>Granit</h1><p>Der Granit liegt am Fluss.</p></html>';
const markdown = `# Quarry\n\n## Tools\n\nA hammer and a chisel.\n\n## Rocks\n\n${sentence('third', 3).repeat(60)}`;
const table = 'stone,weight\ngranite,2.7\n# slate,2.8\n';
const code = '#!/bin/sh\n# build the quarry\n# second comment\nmake granite\n';

export const kindsOfDocuments = [
  {
    path: 'a/text.txt',
    content: { type: 'text', text: `Granite.\n\n\n${sentence('first', 1).repeat(40)}😀 end` },
  },
  {
    path: 'a/pages',
    content: { type: 'text-pages', pages: ['One page.', '', ' \n', sentence('second', 2).repeat(30)] },
    metadata: { author: 'Ada', 'list:topics': ['stone', 'río'] },
  },
  { path: 'b/rows', content: { type: 'text-pages-unordered', pages: ['row granite', 'row slate'] } },
  { path: 'b/empty', content: { type: 'text', text: '' } },
  { path: 'c/page.html', content: { type: 'auto', base64_data: base64(Buffer.from(html)) } },
  { path: 'c/readme.md', content: { type: 'auto', base64_data: base64(Buffer.from(markdown)) } },
  { path: 'c/table.csv', content: { type: 'auto', base64_data: base64(Buffer.from(table)) } },
  { path: 'c/build.sh', content: { type: 'auto', base64_data: base64(Buffer.from(code)) } },
  {
    path: 'd/two pages ü.pdf',
    content: { type: 'auto', base64_data: base64(buildPdf(['first granite', 'second slate'])) },
    metadata: { year: '2026' },
  },
  { path: 'e/unknown.bin', content: { type: 'auto', base64_data: base64(Buffer.from([0, 1, 2, 250, 3])) } },
] as const;

const queries = ['granite', 'hammer chisel', 'slate weight', 'Granit Fluss', 'second edition river'];
const ids = new Set(['id', 'collection_name', 'created_at', 'file_url']);

/** Removes ids, times and addresses; keeps whether a page has an image. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field) =>
      ids.has(key) ? undefined : key === 'image_url' ? field !== null : field,
    ),
  );
}

/** Returns all replies about a collection, its documents, pages and files, and the results of queries. */
export async function readEverything(api: CheckedApiClient, collection: string): Promise<unknown> {
  const name = { collection_name: collection };
  const list = await api.call('documents/get-document-info-list', name);
  const documents: unknown[] = [];
  for (const { path, num_pages } of list.documents) {
    const document = { ...name, path };
    const { document: info } = await api.call('documents/get-document-info', {
      ...document,
      include_content: true,
    });
    const pages: unknown[] = [];
    for (let page_index = 0; page_index < (num_pages ?? 0); page_index++)
      pages.push(
        await api.call('documents/get-page-info', { ...document, page_index, include_content: true }),
      );
    const file = await fetch(info.file_url);
    const bytes = createHash('sha256')
      .update(Buffer.from(await file.arrayBuffer()))
      .digest('hex');
    documents.push({ info, pages, bytes, type: file.headers.get('content-type') });
  }
  const results: unknown[] = [];
  for (const query of queries) {
    const request = { ...name, query, k: 20 };
    results.push(
      await api.call('queries/top-documents', { ...request, include_metadata: true }),
      await api.call('queries/top-pages', { ...request, include_content: true }),
      await api.call('queries/top-snippets', request),
      await api.call('queries/top-snippets', { ...request, precise_responses: true }),
    );
  }
  const status = await api.call('status/get-status', name);
  const exported = await api.call('documents/export-documents', name);
  const { collection: info } = await api.call('collections/get-collection-info', name);
  return withoutIds({ list, documents, results, status, exported, info });
}
