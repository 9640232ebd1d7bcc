import { limits } from '../core/limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, OneOf, Timestamp } from './wire.ts';

/** Schemas of operations about the whole installation, for the administrator. */

const LogLevel = OneOf(['debug', 'info', 'warn', 'error'], { title: 'LogLevel' });

export const GetLogLinesRequest = Component('GetLogLinesRequest', 'Lines of the server log to read.', {
  level: Type.Optional(Nullable(LogLevel, { description: 'Minimum level; absent or null for all lines.' })),
  text: Type.Optional(
    Nullable(Type.String({ maxLength: 256 }), {
      description:
        'Only lines whose event or fields contain this text, without regard to case; absent, null or empty for all.',
      examples: ['backup'],
    }),
  ),
  cursor: Type.Optional(
    Nullable(Type.String({ pattern: '^[0-9a-z]{1,32}-[0-9]{1,15}$' }), {
      description: 'The `next_cursor` of the previous reply; absent or null for the last lines.',
    }),
  ),
  limit: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, maximum: limits.logPageMax }), {
      description: 'Maximum number of lines; default 100.',
    }),
  ),
});
export type GetLogLinesRequest = Static<typeof GetLogLinesRequest>;

const LogLine = Component('LogLine', 'One event of the server.', {
  time: Timestamp('Time of the event.'),
  level: LogLevel,
  event: Type.String({ description: 'The event in fixed words.', examples: ['backup created'] }),
  fields: Type.Record(Type.String(), Type.Unknown(), { description: 'Details of the event.' }),
});
export type LogLine = Static<typeof LogLine>;

export const GetLogLinesResponse = Component('GetLogLinesResponse', 'Lines of the log, oldest first.', {
  lines: Type.Array(LogLine),
  next_cursor: Type.String({ description: 'Send it as `cursor` for the lines that follow.' }),
  is_truncated: Type.Boolean({
    description: 'Whether lines since the cursor are missing, because they are no longer in memory.',
  }),
});
export type GetLogLinesResponse = Static<typeof GetLogLinesResponse>;

const HealthState = OneOf(['ok', 'warning', 'failed'], { title: 'HealthState' });

const HealthCheck = Component('HealthCheck', 'Result of one check of the machine or the data directory.', {
  check: Type.String({ examples: ['disk'] }),
  state: OneOf(['ok', 'warning', 'failed', 'skipped']),
  detail: Type.String({ description: 'Result of the check, in words.' }),
  advice: Nullable(Type.String(), { description: 'Action to take; null if none is needed.' }),
});
export type HealthCheck = Static<typeof HealthCheck>;

const HealthComponent = Component('HealthComponent', 'Component of the running server.', {
  component: Type.String({ examples: ['models'] }),
  is_ready: Type.Boolean(),
  detail: Type.String(),
});

export const GetHealthResponse = Component('GetHealthResponse', 'Health of the installation.', {
  state: HealthState,
  checks: Type.Array(HealthCheck, { description: 'The checks of `quarry doctor`.' }),
  components: Type.Array(HealthComponent, { description: 'The components of `/readyz`.' }),
  version: Type.String({ description: 'Version of Quarry.' }),
  node_version: Type.String({ description: 'Version of Node.js.' }),
  http_server: Type.String({ description: '`uws` or `node`.' }),
  started_at: Timestamp('Start of the server.'),
  memory_used_bytes: Type.Integer({
    description: 'Anonymous memory of the server, which is not backed by files.',
  }),
  memory_max_bytes: Type.Integer({ description: 'Value of `QUARRY_MEMORY_BYTES_MAX`.' }),
  disk_free_bytes: Type.Integer({ description: 'Free bytes of the disk with the data directory.' }),
  disk_reserve_bytes: Type.Integer({
    description: 'Value of `QUARRY_DISK_RESERVE_BYTES`; with less free space, writes are rejected.',
  }),
  waiting_documents: Type.Integer({ description: 'Documents waiting for parsing and indexing.' }),
});
export type GetHealthResponse = Static<typeof GetHealthResponse>;

const SettingValue = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

const SettingInfo = Component('SettingInfo', 'A setting of the server.', {
  variable: Type.String({ examples: ['QUARRY_PORT'] }),
  section: Type.String(),
  meaning: Type.String(),
  value: Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()], {
    description: 'The value in force; null if it is not set or secret.',
  }),
  unit: Nullable(Type.String()),
  is_secret: Type.Boolean({ description: 'Whether the value is never returned.' }),
  is_set: Type.Boolean({ description: 'Whether there is a value.' }),
  source: OneOf(['default', 'variable', 'flag', 'file'], { description: 'Source of the value.' }),
  default: Type.Union([SettingValue], { description: 'The default, or how it is derived.' }),
});
export type SettingInfo = Static<typeof SettingInfo>;

export const GetSettingsResponse = Component('GetSettingsResponse', 'Settings of the running server.', {
  settings: Type.Array(SettingInfo),
  file: Nullable(Type.String(), { description: 'Path of the settings file; null without one.' }),
});
export type GetSettingsResponse = Static<typeof GetSettingsResponse>;
