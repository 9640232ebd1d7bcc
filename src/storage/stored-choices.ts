import { choiceField } from './positional-codec.ts';

/** Frequent media types, by the number under which they are stored. */
export const contentTypeField = choiceField<string>([
  'text/plain; charset=utf-8',
  'application/pdf',
  'text/html',
  'text/markdown',
]);
