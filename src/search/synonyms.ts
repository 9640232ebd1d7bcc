import type { Language } from '../text/languages.ts';
import { analyzeQuery, type LexicalQuery, type QueryTerm } from '../text/query.ts';

type Synonyms = readonly (readonly string[])[];

/** Lists that contain a word, by the word as it is indexed without a language. Built once per setting. */
const listsCache = new WeakMap<Synonyms, ReadonlyMap<string, readonly (readonly string[])[]>>();

/**
 * Adds the synonyms of the words of a query: terms of the same group, so that a text with several of them has no more
 * weight than with one. A word of the query matches a word of a list as typed or by its stem, so lists name base forms.
 */
export function addSynonyms(
  query: LexicalQuery,
  synonyms: Synonyms | undefined,
  languages: readonly Language[],
): LexicalQuery {
  if (synonyms === undefined || synonyms.length === 0) return query;
  const lists = listsOf(synonyms);
  const added: QueryTerm[] = [];
  for (const group of query.words.keys()) {
    const own = query.terms.filter((term) => term.group === group);
    const words = new Set(own.flatMap(({ text }) => lists.get(text) ?? []).flat());
    const known = new Set(own.map(({ hash }) => hash));
    for (const { text, hash } of [...words].flatMap((word) => analyzeQuery(word, languages).terms)) {
      if (known.has(hash)) continue;
      known.add(hash);
      added.push({ text, hash, weight: own[0]!.weight, group });
    }
  }
  if (added.length === 0) return query;
  // The alternatives of one word stay together.
  const terms = [...query.terms, ...added].sort((left, right) => left.group - right.group);
  return { ...query, terms };
}

function listsOf(synonyms: Synonyms): ReadonlyMap<string, readonly (readonly string[])[]> {
  const cached = listsCache.get(synonyms);
  if (cached !== undefined) return cached;
  const lists = new Map<string, (readonly string[])[]>();
  for (const list of synonyms) {
    for (const { text } of list.flatMap((word) => analyzeQuery(word, []).terms)) {
      const found = lists.get(text) ?? [];
      lists.set(text, found);
      found.push(list);
    }
  }
  listsCache.set(synonyms, lists);
  return lists;
}
