import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import { type Static, Type } from './typebox.ts';

export const Synonyms = Type.Array(Type.Array(Type.String()), {
  description:
    'Lists of words with the same meaning in this collection: a query for one of them finds the others, too. Each word is one word of letters and digits, at most 64 characters; 2 to 16 words in a list, at most 500 lists and 65,536 characters.',
  examples: [
    [
      ['refund', 'reimbursement'],
      ['k8s', 'kubernetes'],
    ],
  ],
});
export type Synonyms = Static<typeof Synonyms>;

const wordPattern = /^[\p{L}\p{M}\p{N}]+$/u;

/** Errors: AppError `bad_request` that names the list. */
export function checkSynonyms(synonyms: Synonyms): void {
  const { synonymListsMax, synonymsPerListMax, synonymUnitsMax, synonymUnitsTotalMax } = queryLimits;
  if (synonyms.length > synonymListsMax)
    reject(`synonyms has ${synonyms.length} lists; at most ${synonymListsMax} are allowed.`);
  for (const [i, words] of synonyms.entries()) {
    if (words.length < 2 || words.length > synonymsPerListMax)
      reject(`synonyms[${i}] has ${words.length} words; it must have 2 to ${synonymsPerListMax}.`);
    for (const word of words)
      if (!isSingleWord(word, synonymUnitsMax))
        reject(
          `synonyms[${i}]: ${JSON.stringify(word.slice(0, synonymUnitsMax))} must be one word of letters and digits, at most ${synonymUnitsMax} characters.`,
        );
  }
  const units = synonyms.flat().reduce((sum, { length }) => sum + length, 0);
  if (units > synonymUnitsTotalMax)
    reject(`synonyms has ${units} characters; at most ${synonymUnitsTotalMax} are allowed.`);
}

/** Whether a text is one word of letters and digits, of at most `unitsMax` UTF-16 units. */
export function isSingleWord(text: string, unitsMax: number): boolean {
  return text.length <= unitsMax && wordPattern.test(text);
}

function reject(detail: string): never {
  throw new AppError('bad_request', detail);
}
