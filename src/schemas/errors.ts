import { type Static, Type } from './typebox.ts';
import { Component } from './wire.ts';

/** Body of every 4xx and 5xx except 422. */
export const ErrorResponse = Component('ErrorResponse', 'What went wrong.', {
  detail: Type.String({
    description: 'A sentence for people.',
    examples: ['The collection "handbok" does not exist.'],
  }),
});
export type ErrorResponse = Static<typeof ErrorResponse>;

export const ValidationError = Component('ValidationError', 'One fault of a request.', {
  loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
    description: 'Where: `body` or `query`, then the field names and positions.',
    examples: [['body', 'content', 'type']],
  }),
  msg: Type.String({ description: 'What is wrong there.' }),
  type: Type.String({ description: 'The kind of fault.', examples: ['missing'] }),
});
export type ValidationError = Static<typeof ValidationError>;

/** Body of a 422. */
export const HTTPValidationError = Component(
  'HTTPValidationError',
  'The request does not have the shape of the operation.',
  {
    detail: Type.Optional(Type.Array(ValidationError)),
  },
);
export type HTTPValidationError = Static<typeof HTTPValidationError>;
