import Type from 'typebox';
import { administratorAccess } from './expected-statuses.ts';
import { withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { DateTime, Nullable, OneOf } from './reply-types.ts';

const GetLogLinesResponse = Type.Object({
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
const GetHealthResponse = Type.Object({
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
const GetSettingsResponse = Type.Object({
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

/** Operations of the whole installation. */
export const installationTests = {
  'get-health': {
    expected: administratorAccess(200),
    published: published('admin/get-health', GetHealthResponse),
    recording: 'none',
  },
  'get-settings': {
    expected: administratorAccess(200),
    published: published('admin/get-settings', GetSettingsResponse),
    recording: 'none',
  },
  'get-log-lines': {
    expected: administratorAccess(200),
    buildInput: withBody(),
    published: published('admin/get-log-lines', GetLogLinesResponse),
    recording: 'none',
  },
} satisfies OperationTests;
