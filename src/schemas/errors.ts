import { type Static, Type } from './typebox.ts';
import { Component } from './wire.ts';

/** Body of every 4xx and 5xx except 422. */
export const ErrorResponse = Component('ErrorResponse', 'An error.', {
  detail: Type.String({
    description: 'Error message.',
    examples: ['The collection "handbok" does not exist.'],
  }),
});
export type ErrorResponse = Static<typeof ErrorResponse>;

export const ValidationError = Component('ValidationError', 'A problem of a request.', {
  loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
    description: 'Location: `body` or `query`, then field names and positions.',
    examples: [['body', 'content', 'type']],
  }),
  msg: Type.String({ description: 'Error message.' }),
  type: Type.String({ description: 'Error type.', examples: ['missing'] }),
});
export type ValidationError = Static<typeof ValidationError>;

/** Body of a 422. */
export const HTTPValidationError = Component(
  'HTTPValidationError',
  'The request does not match the schema of the operation.',
  {
    detail: Type.Optional(Type.Array(ValidationError)),
  },
);
export type HTTPValidationError = Static<typeof HTTPValidationError>;
