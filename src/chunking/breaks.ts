/**
 * Quality of a cut before each UTF-16 unit of a text. `forbidden` would split a unit of text (a surrogate
 * pair, CR LF, a letter and its marks); all others are allowed, and a higher value is a better cut.
 */
export const breakStrength = {
  forbidden: 0,
  anywhere: 1,
  word: 2,
  clause: 3,
  sentence: 4,
  line: 5,
  blankLine: 6,
  heading: 7,
  page: 8,
} as const;

const characterKind = {
  other: 0,
  space: 1,
  newline: 2,
  terminator: 3,
  wideTerminator: 4,
  clauseMark: 5,
  wideClauseMark: 6,
  closer: 7,
  ideograph: 8,
  extender: 9,
  joiner: 10,
} as const;

const characterKindByUnit: Uint8Array = buildCharacterKindTable();

function buildCharacterKindTable(): Uint8Array {
  const kinds = new Uint8Array(0x10000);
  const assign = (characters: string, kind: number): void => {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind;
  };
  const assignRange = (first: number, last: number, kind: number): void => {
    kinds.fill(kind, first, last + 1);
  };
  assignRange(0x3040, 0x30ff, characterKind.ideograph);
  assignRange(0x3400, 0x4dbf, characterKind.ideograph);
  assignRange(0x4e00, 0x9fff, characterKind.ideograph);
  assignRange(0xf900, 0xfaff, characterKind.ideograph);
  const marks = /^\p{M}$/u;
  for (let unit = 0x300; unit < 0xd800; unit += 1) {
    if (marks.test(String.fromCharCode(unit))) kinds[unit] = characterKind.extender;
  }
  assignRange(0xdc00, 0xdfff, characterKind.extender);
  assignRange(0xfe00, 0xfe0f, characterKind.extender);
  assignRange(0xfe20, 0xfe2f, characterKind.extender);
  assign('\u200c\uff9e\uff9f', characterKind.extender);
  kinds[0x200d] = characterKind.joiner;
  assign(' \t\u00a0\u1680\u202f\u205f\u3000\ufeff', characterKind.space);
  assignRange(0x2000, 0x200a, characterKind.space);
  assign('\n\r\u000b\u000c\u0085\u2028\u2029', characterKind.newline);
  assign('.!?…؟।॥۔።᙮', characterKind.terminator);
  assign('。！？．｡', characterKind.wideTerminator);
  assign(',;:–—،؛', characterKind.clauseMark);
  assign('、，；：､', characterKind.wideClauseMark);
  assign('"\')]}”’»›', characterKind.closer);
  assign('」』）】》〉〕］｝', characterKind.closer);
  return kinds;
}

function isLowerCaseAscii(unit: number): boolean {
  return unit >= 0x61 && unit <= 0x7a;
}

/**
 * Returns one strength per position 0..text.length (a cut before that unit). Single pass with constant work
 * per unit for any input. White space stays with the preceding text; indentation stays with its line.
 */
export function scoreBreaks(text: string): Uint8Array {
  const length = text.length;
  const scores = new Uint8Array(length + 1);
  const { forbidden, anywhere, word, clause, sentence, line, blankLine } = breakStrength;
  let pending: number = word; // strength of the last punctuation mark
  let needsNoSpace = false; // the last punctuation mark needs no white space after it
  let inSpace = false;
  let newlines = 0;
  let lineStart = 0;
  let previousKind: number = characterKind.other;
  let previous = 0;
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index);
    const kind = characterKindByUnit[unit]!;
    if (kind === characterKind.space || kind === characterKind.newline) {
      const isPairEnd = unit === 0x0a && previous === 0x0d;
      scores[index] = isPairEnd ? forbidden : anywhere;
      if (kind === characterKind.newline) {
        if (!isPairEnd) newlines += 1;
        lineStart = index + 1;
      }
      inSpace = true;
    } else {
      if (
        kind === characterKind.extender ||
        kind === characterKind.joiner ||
        previousKind === characterKind.joiner
      ) {
        scores[index] = forbidden;
      } else if (inSpace) {
        if (newlines > 0) {
          scores[index] = word;
          scores[lineStart] = newlines > 1 ? blankLine : line;
        } else {
          scores[index] = pending === sentence && isLowerCaseAscii(unit) ? clause : pending;
        }
      } else if (needsNoSpace && kind !== characterKind.closer && kind !== characterKind.wideTerminator) {
        scores[index] = pending;
      } else {
        scores[index] =
          kind === characterKind.ideograph || previousKind === characterKind.ideograph ? word : anywhere;
      }
      inSpace = false;
      newlines = 0;
      if (kind === characterKind.terminator || kind === characterKind.wideTerminator) {
        pending = sentence;
        needsNoSpace = kind === characterKind.wideTerminator;
      } else if (kind === characterKind.clauseMark || kind === characterKind.wideClauseMark) {
        pending = clause;
        needsNoSpace = kind === characterKind.wideClauseMark;
      } else if (kind !== characterKind.closer) {
        pending = word;
        needsNoSpace = false;
      }
    }
    previous = unit;
    previousKind = kind;
  }
  return scores;
}
