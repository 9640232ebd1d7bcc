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
