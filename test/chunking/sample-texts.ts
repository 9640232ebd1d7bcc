/** Pseudorandom numbers in [0, 1), reproducible from the seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const fragments = [
  'the court held that ',
  'Ware',
  'e\u0301',
  'n\u0303',
  '日本語の文章です。',
  '猫、犬',
  '한국어 ',
  'ภาษาไทย',
  '👩‍👩‍👧‍👦',
  '🇩🇪🇫🇷',
  '👍🏽',
  '\u200d',
  '\r\n',
  '\n',
  '\n\n',
  '\r',
  '\t',
  '  ',
  '. ',
  '! ',
  ', ',
  '; ',
  '“quote” ',
  'नमस्ते ',
  'שלום ',
  'مرحبا ',
  '𝒳𝒴',
  '# Heading\n',
  '1.2 Scope\n',
  '\u0000',
  '\ufeff',
  '\u2028',
  'a',
  'Z',
  '9',
  '```\n',
  '----\n',
  '각',
  '\u0600',
];

/**
 * Text of `length` units or slightly more, with mixed scripts, white space and all sequences that must not be
 * split.
 */
export function randomMixedText(random: () => number, length: number): string {
  const parts: string[] = [];
  let size = 0;
  while (size < length) {
    const fragment = fragments[Math.floor(random() * fragments.length)]!;
    const part = fragment.repeat(
      random() < 0.02 ? 1 + Math.floor(random() * 700) : 1 + Math.floor(random() * 3),
    );
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
}

const vocabulary =
  'the of a in to court contract party shall notice term payment service agreement either breach days ' +
  'written liability section under provided period person information system document search passage';

const words = vocabulary.split(' ');

/** English-like prose in sentences and paragraphs. */
export function randomProse(random: () => number, length: number): string {
  const parts: string[] = [];
  let size = 0;
  while (size < length) {
    const count = 6 + Math.floor(random() * 18);
    const sentence = Array.from({ length: count }, () => words[Math.floor(random() * words.length)]!).join(
      ' ',
    );
    const end = random() < 0.2 ? '.\n\n' : '. ';
    parts.push(sentence[0]!.toUpperCase(), sentence.slice(1), end);
    size += sentence.length + end.length;
  }
  return parts.join('');
}
