import Type from 'typebox';
import { DateTime, Nullable, OneOf } from './reply-types.ts';

/** Shapes of the replies of operations about the whole installation. */

export const GetLogLinesResponse = Type.Object({
  lines: Type.Array(
    Type.Object({
      time: DateTime,
      level: OneOf(['debug', 'info', 'warn', 'error']),
      event: Type.String(),
      fields: Type.Record(Type.String(), Type.Unknown()),
    }),
  ),
  next_cursor: Type.String(),
  is_truncated: Type.Boolean(),
});

export const GetHealthResponse = Type.Object({
  state: OneOf(['ok', 'warning', 'failed']),
  checks: Type.Array(
    Type.Object({
      check: Type.String(),
      state: OneOf(['ok', 'warning', 'failed', 'skipped']),
      detail: Type.String(),
      advice: Nullable(Type.String()),
    }),
  ),
  components: Type.Array(
    Type.Object({ component: Type.String(), is_ready: Type.Boolean(), detail: Type.String() }),
  ),
  version: Type.String(),
  node_version: Type.String(),
  http_server: OneOf(['uws', 'node']),
  started_at: DateTime,
  memory_used_bytes: Type.Integer(),
  memory_max_bytes: Type.Integer(),
  disk_free_bytes: Type.Integer(),
  disk_reserve_bytes: Type.Integer(),
  waiting_documents: Type.Integer(),
});

const SettingValue = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

export const GetSettingsResponse = Type.Object({
  settings: Type.Array(
    Type.Object({
      variable: Type.String(),
      section: Type.String(),
      meaning: Type.String(),
      value: SettingValue,
      unit: Nullable(Type.String()),
      is_secret: Type.Boolean(),
      is_set: Type.Boolean(),
      source: OneOf(['default', 'variable', 'flag', 'file']),
      default: SettingValue,
    }),
  ),
  file: Nullable(Type.String()),
});

export const ListOrganizationsResponse = Type.Object({
  organizations: Type.Array(
    Type.Object({
      organization_id: Type.String(),
      name: Type.String(),
      storage: Type.Optional(
        Type.Object({
          documents: Type.Integer(),
          bytes: Type.Integer(),
          ingest_documents: Type.Integer(),
        }),
      ),
    }),
  ),
  next_after: Nullable(Type.String()),
});

export const ModelDetails = Type.Object({
  id: Type.String(),
  kind: OneOf(['embedding', 'reranker']),
  source: OneOf(['built-in', 'added', 'service']),
  dimensions: Nullable(Type.Integer()),
  aliases: Type.Array(Type.String()),
  is_default: Type.Boolean(),
  is_available: Type.Boolean(),
  latency: Nullable(
    Type.Object({
      calls: Type.Integer(),
      p50_ms: Type.Number(),
      p95_ms: Type.Number(),
      p99_ms: Type.Number(),
    }),
  ),
  collection_names: Type.Array(Type.String()),
});
