import * as checks from '../../schemas/checks.ts';
import * as changes from '../../schemas/document-changes.ts';
import * as documentList from '../../schemas/document-list.ts';
import * as documentText from '../../schemas/document-text.ts';
import * as documents from '../../schemas/documents.ts';
import * as exports from '../../schemas/exports.ts';
import { DefaultResponse } from '../../schemas/wire.ts';
import { renderWithList, renderWithText } from '../../services/rendered-json.ts';
import {
  checkCollection,
  checkDocument,
  collectionNotFound,
  documentNotFound,
  organizationRoute,
  organizationStatusRoute,
} from './json-route.ts';
import type { Route } from './route.ts';

function checkSelection(request: changes.DeleteDocumentsRequest): void {
  checkCollection(request);
  if (request.limit !== undefined) checks.checkListLimit(request.limit);
  checks.checkPathBound('path_prefix', request.path_prefix ?? '');
}

export const documentRoutes: readonly Route[] = [
  organizationStatusRoute({
    operation: 'add-document',
    access: 'write',
    path: '/documents/add-document',
    summary: 'Add a document',
    description:
      'Adds a document, or replaces one atomically with `overwrite`. The reply confirms that the document is durable on disk. The document is searchable when its `index_status` is `indexed`; set `wait` to wait for that. Until then, queries use the previous version.',
    request: documents.AddDocumentRequest,
    bodyKind: 'document',
    reply: documents.AddDocumentResponse,
    example: {
      collection_name: 'handbook',
      path: 'refunds.txt',
      content: { type: 'text', text: 'Refunds are paid within 14 days.' },
      metadata: { author: 'Ada', 'list:topics': ['billing', 'refunds'] },
      wait: true,
    },
    successStatuses: [201, 200],
    errorResponses: {
      404: collectionNotFound,
      409: 'The path exists and `overwrite` is false.',
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted. The detail names the cause.',
    },
    check: (request, bounds) => {
      checkDocument(request);
      if (request.metadata) checks.checkMetadata(request.metadata, bounds.metadataBytesMax());
    },
    serve: (services, call, request) => services.uploads.addDocument(call, request),
  }),
  organizationRoute({
    operation: 'add-documents',
    access: 'write',
    path: '/documents/add-documents',
    summary: 'Add several documents',
    description:
      'Adds up to 256 documents to one collection. Each document is added or rejected individually: check the status of each result, which is the status that add-document would return.',
    request: documents.AddDocumentsRequest,
    bodyKind: 'document',
    reply: documents.AddDocumentsResponse,
    example: {
      collection_name: 'handbook',
      documents: [
        { path: 'a.txt', content: { type: 'text', text: 'First.' } },
        {
          path: 'b.txt',
          content: { type: 'text-pages', pages: ['Page one.', 'Page two.'] },
          overwrite: true,
        },
      ],
    },
    errorResponses: {
      404: collectionNotFound,
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
    check: (request) => {
      checkCollection(request);
      checks.checkBatchSize(request.documents.length);
    },
    serve: (services, call, request) => services.uploads.addDocuments(call, request),
  }),
  {
    kind: 'put',
    method: 'PUT',
    path: '/documents/:collection/*',
    operation: 'put-document',
    access: 'write',
    isVersioned: true,
    tag: 'documents',
    summary: 'Upload a document as the raw body',
    description:
      'The body is the file, up to the upload limit; it is streamed to disk. Percent-encode the collection and the path; the path may contain `%2F`. Send metadata as base64url-encoded JSON in the header `x-quarry-metadata`. `?overwrite=true` and `?wait=true` work as in add-document. Example: `curl -T report.pdf -H "Authorization: Bearer $KEY" "$URL/v1/documents/handbook/reports%2F2026.pdf?wait=true"`.',
    errorResponses: {
      404: collectionNotFound,
      409: 'The path exists and `overwrite` is not true.',
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
  },
  {
    kind: 'multipart',
    method: 'POST',
    path: '/documents/upload',
    operation: 'upload-document',
    access: 'write',
    isVersioned: true,
    tag: 'documents',
    summary: 'Upload a document as a form',
    description:
      'A `multipart/form-data` form with the fields `collection_name` and `path`, optionally `metadata` (JSON), `overwrite` and `wait` (`true` or `false`), and the field `file` last. The file is streamed to disk. Example: `curl -H "Authorization: Bearer $KEY" -F collection_name=handbook -F path=report.pdf -F file=@report.pdf "$URL/v1/documents/upload"`.',
    errorResponses: {
      404: collectionNotFound,
      409: 'The path exists and `overwrite` is not true.',
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
  },
  organizationRoute({
    operation: 'update-document',
    access: 'write',
    path: '/documents/update-document',
    summary: 'Change a document, or retry a failed one',
    description:
      'With `metadata`: replaces the metadata of an `indexed` document; with `metadata_patch`: changes some of its attributes; with `expires_at`: changes its expiry time. The old values apply to queries until the new ones are indexed. With `index_status`: retries a failed document; cannot be combined with the other fields. A request without any of these fields changes nothing.',
    request: documents.UpdateDocumentRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', path: 'refunds.txt', metadata: { author: 'Grace' } },
    errorResponses: {
      400: 'A value is out of range, or the document does not have the required `index_status`.',
      404: documentNotFound,
    },
    check: (request, bounds) => {
      checkDocument(request);
      if (request.metadata) checks.checkMetadata(request.metadata, bounds.metadataBytesMax());
    },
    serve: (services, call, request) => services.documents.updateDocument(call, request),
  }),
  organizationRoute({
    operation: 'delete-document',
    access: 'write',
    path: '/documents/delete-document',
    summary: 'Delete documents',
    description:
      'Deletes up to 64 documents and removes them from search immediately. The reply lists the documents that existed.',
    request: documents.DeleteDocumentRequest,
    reply: documents.DeleteDocumentResponse,
    example: { collection_name: 'handbook', path: ['refunds.txt', 'old.txt'] },
    errorResponses: { 404: 'The collection does not exist, or none of the documents exists.' },
    check: (request) => {
      checkCollection(request);
      checks.checkPaths(request.path);
    },
    serve: (services, call, request) => services.documents.deleteDocument(call, request),
  }),
  organizationRoute({
    operation: 'delete-documents',
    access: 'write',
    path: '/documents/delete-documents',
    summary: 'Delete documents by filter',
    description:
      'Deletes up to 1,024 documents whose metadata matches a filter, or whose paths start with a prefix, in the order of their paths. Repeat the call while `has_more` is true. With `dry_run`, nothing is deleted, and the reply lists the documents that would be. Documents are deleted one by one: after an error, repeat the call to continue.',
    request: changes.DeleteDocumentsRequest,
    reply: changes.DeleteDocumentsResponse,
    example: { collection_name: 'handbook', filter: { author: 'Ada' }, dry_run: true },
    errorResponses: { 404: collectionNotFound },
    check: checkSelection,
    serve: (services, call, request) => services.changes.deleteDocuments(call, request),
  }),
  organizationRoute({
    operation: 'update-documents',
    access: 'write',
    path: '/documents/update-documents',
    summary: 'Change metadata by filter',
    description:
      'Applies a JSON merge patch (RFC 7396) to the metadata of up to 1,024 documents that match a filter or a prefix, in the order of their paths. Documents that the patch does not change are left out, so repeat the call while `has_more` is true. Documents that are not `indexed` are skipped. With `dry_run`, nothing changes, and the reply lists the documents that would.',
    request: changes.UpdateDocumentsRequest,
    reply: changes.UpdateDocumentsResponse,
    example: {
      collection_name: 'handbook',
      filter: { author: 'Ada' },
      metadata_patch: { author: 'Grace', draft: null },
    },
    errorResponses: {
      404: collectionNotFound,
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
    check: checkSelection,
    serve: (services, call, request) => services.changes.updateDocuments(call, request),
  }),
  organizationRoute({
    operation: 'get-document-info',
    access: 'read',
    path: '/documents/get-document-info',
    summary: 'Describe a document',
    description:
      'Returns the index status, the size and the download URL of a document, and its full text on request.',
    request: documents.GetDocumentInfoRequest,
    reply: documents.GetDocumentInfoResponse,
    example: { collection_name: 'handbook', path: 'refunds.txt', include_content: true },
    errorResponses: { 404: documentNotFound },
    check: checkDocument,
    serve: async (services, call, request) => {
      const { document } = await services.documents.getDocumentInfo(call, request);
      return renderWithText({ name: 'document', field: 'content' }, document, call.yieldToEventLoop);
    },
  }),
  organizationRoute({
    operation: 'get-document-info-list',
    access: 'read',
    path: '/documents/get-document-info-list',
    summary: 'List documents',
    description:
      'Lists up to 1,024 documents in ascending order of their paths (by UTF-8 bytes). For the next page, send the last path as `path_gt`; repeat until the list is empty. Filters select documents by path, state, extension and time. With `sort_by`, send `next_cursor` of the reply as `cursor` until it is null.',
    request: documentList.GetDocumentInfoListRequest,
    reply: documentList.GetDocumentInfoListResponse,
    example: { collection_name: 'handbook', limit: 100, path_prefix: 'guides/' },
    errorResponses: { 404: collectionNotFound },
    queryFields: ['path_gt'],
    check: (request) => {
      checkCollection(request);
      if (request.limit !== undefined) checks.checkListLimit(request.limit);
      checks.checkPathBound('path_prefix', request.path_prefix ?? '');
      checks.checkPathBound('path_gt', request.path_gt ?? '');
      checks.checkListFilters(request);
    },
    serve: async (services, call, request) => {
      const list = await services.documents.getDocumentInfoList(call, request);
      return renderWithList('documents', list, call.yieldToEventLoop);
    },
  }),
  organizationRoute({
    operation: 'get-page-info',
    access: 'read',
    path: '/documents/get-page-info',
    summary: 'Describe a page',
    description: 'Returns the text of a page and the URL of its image, if it has one.',
    request: documents.GetPageInfoRequest,
    reply: documents.GetPageInfoResponse,
    example: { collection_name: 'handbook', path: 'guides/setup.pdf', page_index: 0, include_content: true },
    errorResponses: { 404: 'The collection, the document or the page does not exist.' },
    check: checkDocument,
    serve: async (services, call, request) => {
      const { page } = await services.documents.getPageInfo(call, request);
      return renderWithText({ name: 'page', field: 'content' }, page, call.yieldToEventLoop);
    },
  }),
  organizationRoute({
    operation: 'export-documents',
    access: 'read',
    path: '/documents/export-documents',
    summary: 'Export documents with their content',
    description:
      'Lists documents in ascending order of their paths with metadata and text, in the format of add-documents. Files have a `file_url`. To import a file without parsing it again, add its bytes to `content` as `base64_data`. For the next documents, send the last path as `path_gt`; repeat until the list is empty.',
    request: exports.ExportDocumentsRequest,
    reply: exports.ExportDocumentsResponse,
    example: { collection_name: 'handbook', limit: 64 },
    errorResponses: { 404: collectionNotFound },
    check: (request) => {
      checkCollection(request);
      if (request.limit !== undefined) checks.checkExportLimit(request.limit);
      checks.checkPathBound('path_prefix', request.path_prefix ?? '');
      checks.checkPathBound('path_gt', request.path_gt ?? '');
    },
    serve: (services, call, request) => services.exports.exportDocuments(call, request),
  }),
  organizationRoute({
    operation: 'get-document-text',
    access: 'read',
    path: '/documents/get-document-text',
    summary: 'Read a part of a document',
    description:
      'Returns a part of the text of a document, by page or by position. To continue, send `next_index` as `start_index`. The document must be indexed.',
    request: documentText.GetDocumentTextRequest,
    reply: documentText.GetDocumentTextResponse,
    example: { collection_name: 'handbook', path: 'refunds.txt', page_index: 0, max_characters: 2_000 },
    errorResponses: {
      400: 'A value is out of range, or the document is not indexed yet.',
      404: 'The collection, the document or the page does not exist.',
    },
    check: (request) => {
      checkDocument(request);
      checks.checkTextRange(request);
    },
    serve: (services, call, request) => services.documents.getDocumentText(call, request),
  }),
  {
    kind: 'file',
    method: 'GET',
    path: '/documents/get-document',
    operation: 'get-document',
    access: 'none',
    isVersioned: true,
    tag: 'documents',
    summary: 'Download a raw document',
    description:
      'The URL that replies contain as `file_url`. Its token is the only credential and expires when the document is deleted or replaced. Returns the bytes as they were added (UTF-8 for a text document). Supports range requests; replies are immutable and cacheable.',
    errorResponses: { 404: 'The token is unknown, or its document was deleted or replaced.' },
  },
  {
    kind: 'image',
    method: 'GET',
    path: '/documents/get-page-image',
    operation: 'get-page-image',
    access: 'none',
    isVersioned: true,
    tag: 'documents',
    summary: 'Download the image of a page',
    description:
      'The URL that replies contain as `image_url`: a JPEG of one page, rendered on the first request. Add `&width=` (1 to 2000 pixels) for a smaller image; the width is rounded up to 128, 256, 384, 512, 768, 1024, 1536 or 2000. Images are never enlarged.',
    errorResponses: {
      404: 'The token is unknown, its document was deleted or replaced, or the page has no image.',
      429: 'Too many requests for page images of the organization are waiting.',
    },
  },
];
