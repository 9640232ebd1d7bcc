import type { Clock } from '../core/clock.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { SuggestRequest, SuggestResponse } from '../schemas/suggestions.ts';
import { foldStopWords } from '../search/stop-words.ts';
import type { Vocabularies } from '../search/vocabularies.ts';
import type { Collections } from '../storage/collections.ts';
import { documentFilterOf } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { findCollection } from './collections.ts';
import { remainingMs } from './search-requests.ts';

export interface SuggestionServicesOptions {
  readonly collections: Collections;
  readonly vocabularies: Pick<Vocabularies, 'find'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const limitDefault = 5;
const none: ReadonlySet<string> = new Set();

/** Completes queries with words and titles of the documents that a caller may read. */
export class SuggestionServices {
  readonly #options: SuggestionServicesOptions;

  constructor(options: SuggestionServicesOptions) {
    this.#options = options;
  }

  async suggest(
    { principal, receivedAt, cancellation }: ServiceCall<OrganizationPrincipal>,
    { collection_name: name, query, limit = limitDefault }: SuggestRequest,
  ): Promise<SuggestResponse> {
    const { collections, vocabularies, clock } = this.#options;
    const collection = findCollection(collections, principal, name);
    const { vocabulary, allowed } = await vocabularies.find(collection, {
      filter: documentFilterOf(principal),
      deadlineMs: remainingMs(clock, receivedAt),
      token: cancellation,
    });
    const stopWords = collection.stopWords === undefined ? none : foldStopWords(collection.stopWords);
    const suggestions = vocabulary.suggest(query.toWellFormed(), { allowed, limit, stopWords });
    return {
      suggestions: suggestions.map(({ query: text, documents }) => ({
        query: text,
        num_documents: documents,
      })),
    };
  }
}
