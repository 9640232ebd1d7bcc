import type * as sources from '../../../src/schemas/sources.ts';
import type { DefaultResponse } from '../../../src/schemas/wire.ts';
import { callOperation as post } from './operation-call.ts';

/** Operations of sources, in the selected organization. */

export type { SourceInfo, SourceKind } from '../../../src/schemas/sources.ts';
export type RunCounts = sources.PreviewSourceResponse['counts'];
export type ListedItem = sources.GetSourceItemListResponse['items'][number];
export type SourcePreview = sources.PreviewSourceResponse;

export async function listSources(signal?: AbortSignal): Promise<readonly sources.SourceInfo[]> {
  return (await post<sources.GetSourceListResponse>('/sources/get-source-list', {}, signal)).sources;
}

export async function getSource(name: string, signal?: AbortSignal): Promise<sources.SourceInfo> {
  return (await post<sources.SourceResponse>('/sources/get-source', { source_name: name }, signal)).source;
}

export function addSource(request: sources.AddSourceRequest): Promise<DefaultResponse> {
  return post('/sources/add-source', request);
}

export function updateSource(request: sources.UpdateSourceRequest): Promise<DefaultResponse> {
  return post('/sources/update-source', request);
}

/** Starts a run. `allowEmpty`: all documents may be deleted because the origin is empty. */
export function syncSource(name: string, { allowEmpty = false } = {}): Promise<sources.SourceResponse> {
  return post('/sources/sync-source', { source_name: name, allow_empty: allowEmpty });
}

export function pauseSource(name: string): Promise<DefaultResponse> {
  return post('/sources/pause-source', { source_name: name });
}

export function resumeSource(name: string): Promise<DefaultResponse> {
  return post('/sources/resume-source', { source_name: name });
}

export function deleteSource(name: string, deletesDocuments: boolean): Promise<DefaultResponse> {
  return post('/sources/delete-source', { source_name: name, delete_documents: deletesDocuments });
}

/** Returns what a run would change now. */
export function previewSource(name: string, signal?: AbortSignal): Promise<sources.PreviewSourceResponse> {
  return post('/sources/preview-source', { source_name: name }, signal);
}

export function listSourceItems(
  request: sources.GetSourceItemListRequest,
  signal?: AbortSignal,
): Promise<sources.GetSourceItemListResponse> {
  return post('/sources/get-source-item-list', request, signal);
}
