import Type from 'typebox';
import { DateTime, OneOf } from './reply-types.ts';

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
