import Type from 'typebox';
import { DateTime, Nullable, OneOf } from './reply-types.ts';

/** Reply shapes of the operations of sources. */

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

export const SourceResponse = Type.Object({ source: Source });
export const GetSourceListResponse = Type.Object({ sources: Type.Array(Source) });
export const PreviewSourceResponse = Type.Object({
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
export const GetSourceItemListResponse = Type.Object({
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
