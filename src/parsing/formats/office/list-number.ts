/** Formats a list count; `format` is a name from ECMA-376 part 1, 17.18.59. */
export function formatListNumber(count: number, format: string): string {
  switch (format) {
    case 'lowerLetter':
      return formatLetters(count);
    case 'upperLetter':
      return formatLetters(count).toUpperCase();
    case 'lowerRoman':
      return formatRoman(count);
    case 'upperRoman':
      return formatRoman(count).toUpperCase();
    case 'decimalZero':
      return String(count).padStart(2, '0');
    default:
      return String(count); // decimal, and spelled-out or native digits, which have the same value
  }
}

/** 1 -> a, 26 -> z, 27 -> aa, 28 -> bb, as in Word. */
function formatLetters(count: number): string {
  if (count < 1 || count > 780) return String(count);
  return String.fromCharCode(97 + ((count - 1) % 26)).repeat(Math.ceil(count / 26));
}

const romanDigits = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
] as const;

function formatRoman(count: number): string {
  if (count < 1 || count > 3_999) return String(count);
  let [rest, text] = [count, ''];
  for (const [value, digit] of romanDigits) {
    for (; rest >= value; rest -= value) text += digit;
  }
  return text;
}
