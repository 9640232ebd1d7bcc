import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import * as common from '@zxcvbn-ts/language-common';
import * as english from '@zxcvbn-ts/language-en';

/** Minimum score of 0 to 4. Score 3 takes about 10^8 guesses, which Argon2id makes expensive. */
const scoreMin = 3;
const lengthMin = 12;
/** Longer passwords are scored by this prefix, because the estimate takes time quadratic in the length. */
const checkedLengthMax = 128;

/**
 * Returns why a password is easy to guess, and how to improve it, without the final period; null for a strong one. The
 * dictionaries take about 20 MB and 100 ms, so import this file only where a password is chosen.
 */
export function findWeakness(password: string): string | null {
  if (password.length < lengthMin) {
    return `it has ${password.length} characters; use ${lengthMin} or more`;
  }
  const estimator = new ZxcvbnFactory({
    dictionary: { ...common.dictionary, ...english.dictionary },
    graphs: common.adjacencyGraphs,
    translations: english.translations,
  });
  const { score, feedback } = estimator.check(password.slice(0, checkedLengthMax), [
    'quarry',
    'administrator',
  ]);
  if (score >= scoreMin) return null;
  const reasons = [feedback.warning, ...feedback.suggestions].filter((reason) => reason);
  if (reasons.length === 0) return 'it is easy to guess; use several uncommon words';
  return reasons.join(' ').replace(/\.$/, '');
}
