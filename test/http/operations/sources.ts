import Type from 'typebox';
import type { ResourceIds } from '../tenant-fixture.ts';
import { withoutRestrictions, writeAccess } from './expected-statuses.ts';
import type { CallInput } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DateTime, DefaultResponse, Nullable, OneOf } from './reply-types.ts';

const Counts = Type.Object({
  added: Type.Integer(),
  updated: Type.Integer(),
  deleted: Type.Integer(),
  unchanged: Type.Integer(),
  failed: Type.Integer(),
});
const Source = Type.Object({
  source_name: Type.String(),
  collection_name: Nullable(Type.String()),
  kind: Type.String(),
  prefix: Type.String(),
  schedule: Type.String(),
  time_zone: Type.String(),
  watch: Type.Boolean(),
  watch_error: Nullable(Type.String()),
  has_credentials: Type.Boolean(),
  state: OneOf(['idle', 'queued', 'running', 'paused', 'deleting']),
  running: Nullable(Type.Object({ started_at: DateTime, counts: Counts })),
  last_run: Nullable(
    Type.Object({
      started_at: DateTime,
      ended_at: DateTime,
      outcome: OneOf(['succeeded', 'partial', 'failed', 'interrupted']),
      error: Nullable(Type.String()),
      counts: Counts,
    }),
  ),
  last_success_at: Nullable(DateTime),
  next_run_at: Nullable(DateTime),
  created_at: DateTime,
});
const SourceResponse = Type.Object({ source: Source });
const GetSourceListResponse = Type.Object({ sources: Type.Array(Source) });
const PreviewSourceResponse = Type.Object({
  counts: Counts,
  changes: Type.Array(
    Type.Object({
      key: Type.String(),
      path: Type.String(),
      action: OneOf(['add', 'update', 'delete', 'fail']),
      error: Nullable(Type.String()),
    }),
  ),
  is_complete: Type.Boolean(),
});
const GetSourceItemListResponse = Type.Object({
  items: Type.Array(
    Type.Object({
      key: Type.String(),
      path: Type.String(),
      result: OneOf(['added', 'updated', 'failed']),
      error: Nullable(Type.String()),
      at: DateTime,
      sha256: Nullable(Type.String()),
    }),
  ),
  next_key_gt: Nullable(Type.String()),
});

const ofMissingSource = (_names: ResourceIds, fresh: string): CallInput => ({ body: { source_name: fresh } });

/** Operations of sources, on a server that allows no folder. */
export const sourceTests = {
  'add-source': {
    expected: withoutRestrictions(writeAccess(403)),
    buildInput: ({ collection_name }, fresh) => ({
      body: { source_name: fresh, collection_name, directory: { path: '/no/such/folder' } },
    }),
    published: published('sources/add-source', DefaultResponse),
  },
  'update-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/update-source', DefaultResponse),
  },
  'delete-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/delete-source', DefaultResponse),
  },
  'get-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/get-source', SourceResponse),
  },
  'get-source-list': {
    expected: withoutRestrictions(writeAccess(200, 200)),
    published: published('sources/get-source-list', GetSourceListResponse),
  },
  'sync-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/sync-source', SourceResponse),
  },
  'preview-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/preview-source', PreviewSourceResponse),
  },
  'get-source-item-list': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/get-source-item-list', GetSourceItemListResponse),
  },
  'pause-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/pause-source', DefaultResponse),
  },
  'resume-source': {
    expected: withoutRestrictions(writeAccess(404)),
    buildInput: ofMissingSource,
    published: published('sources/resume-source', DefaultResponse),
  },
} satisfies OperationTests;
