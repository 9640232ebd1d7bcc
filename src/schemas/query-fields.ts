import { Type } from './typebox.ts';

/** Optional fields of query requests, and of their results, that combine, compare or mark. */

export const highlights = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Include the positions of the words in the text of each result that match the query, `k` up to 128.',
  }),
);

export const highlightRanges = Type.Optional(
  Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
    description:
      'Ranges of `content` with words that match the query: start and end (exclusive), in code points from the start of `content`, in order; the first 100. Only with `highlights`.',
    examples: [[[13, 20]]],
  }),
);
