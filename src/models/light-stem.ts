const vowel = /[aeiouy]/;

/** Removes a doubled final consonant, as in "stopp"; l, s and z may stay doubled. */
function removeDoubledConsonant(stem: string): string {
  return /([^aeioulsz])\1$/.test(stem) ? stem.slice(0, -1) : stem;
}

function stripPlural(word: string): string {
  if (!word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (/(?:sses|shes|ches|xes|zes)$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

function stripEnding(word: string): string {
  for (const ending of ['ingly', 'edly', 'ing', 'ed', 'ly']) {
    if (!word.endsWith(ending)) continue;
    const stem = word.slice(0, -ending.length);
    return stem.length >= 3 && vowel.test(stem) ? removeDoubledConsonant(stem) : word;
  }
  return word;
}

/**
 * Strips the most common English endings of a normalized word, so that "causes", "caused" and "causing" share
 * a stem. The weights of the reranker were trained with exactly these rules: a change requires new training.
 */
export function toLightStem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const stem = stripEnding(stripPlural(word));
  if (stem.length > 3 && stem.endsWith('e')) return stem.slice(0, -1);
  return stem.length > 3 && stem.endsWith('y') ? `${stem.slice(0, -1)}i` : stem;
}
