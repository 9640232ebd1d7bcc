import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import { type Static, Type } from './typebox.ts';
import { CollectionName, Component } from './wire.ts';

export const SuggestRequest = Component('SuggestRequest', 'The start of a query to complete.', {
  collection_name: CollectionName(),
  query: Type.String({
    description: 'The query as typed so far: at most 256 characters. Its last word is completed.',
    examples: ['refund po'],
  }),
  limit: Type.Optional(
    Type.Integer({ default: 5, description: 'Maximum number of suggestions, 1 to 20.', examples: [5] }),
  ),
});
export type SuggestRequest = Static<typeof SuggestRequest>;

export const SuggestResponse = Component('SuggestResponse', 'Completed queries.', {
  suggestions: Type.Array(
    Type.Object({
      query: Type.String({ description: 'The completed query.', examples: ['refund policy'] }),
      num_documents: Type.Integer({
        description:
          'Number of documents with the completed word and the words before it, or with this title, among those that were read for suggestions.',
        examples: [12],
      }),
    }),
    { description: 'The most frequent first.' },
  ),
});
export type SuggestResponse = Static<typeof SuggestResponse>;

/** Errors: AppError `bad_request`. */
export function checkSuggest({ query, limit = 1 }: SuggestRequest): void {
  const { suggestUnitsMax, suggestionsMax } = queryLimits;
  if (query.length > suggestUnitsMax)
    throw new AppError(
      'bad_request',
      `query has ${query.length} characters; at most ${suggestUnitsMax} are allowed.`,
    );
  if (limit < 1 || limit > suggestionsMax)
    throw new AppError('bad_request', `limit is ${limit}; it must be 1 to ${suggestionsMax}.`);
}
