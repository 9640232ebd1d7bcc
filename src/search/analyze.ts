import { getGeneration } from '../storage/collections.ts';
import type { Language } from '../text/languages.ts';
import { analyzeQuery, type LexicalQuery } from '../text/query.ts';
import { callIndex } from './call-index.ts';
import type { AnalyzedQuery } from './prepared-query.ts';
import type { SearchRequest } from './query-request.ts';
import type { SearchComponents } from './search-components.ts';
import { correctSpelling } from './spelling.ts';
import { removeStopWords } from './stop-words.ts';
import { addSynonyms } from './synonyms.ts';

export const emptyQuery: LexicalQuery = { terms: [], words: [], letterWords: [] };

/** Analyzes the words of a query, including corrections of misspelled ones. */
export async function analyze(
  { isKnownWord, getIndex }: SearchComponents,
  request: SearchRequest,
): Promise<AnalyzedQuery> {
  const { query: text, control, deadlineMs, caller, collection } = request;
  if (control.weights.lexical === 0) return { lexicalQuery: emptyQuery, text, corrections: [] };
  const languages = collection.languages as readonly Language[];
  const searched = removeStopWords(analyzeQuery(text, languages), collection.stopWords);
  const lexicalQuery = addSynonyms(searched, collection.synonyms, languages);
  if (isKnownWord === null || request.isRestricted === true) return { lexicalQuery, text, corrections: [] };
  const index = getIndex(collection.collectionId, getGeneration(collection));
  const phrases = control.operators?.phrases ?? [];
  return callIndex(caller, () =>
    correctSpelling(index, { lexicalQuery, text, phrases, languages, isKnownWord, deadlineMs }),
  );
}
