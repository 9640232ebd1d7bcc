// Prints unicode_tables.inc from the Unicode data of the running Node.js:
//   node native/text/generate_tables.mjs > native/text/unicode_tables.inc
// The tables are committed, so that the same text has the same tokens on every version of Node. The tests
// compare them with the Node version that runs them.

const codePoints = 0x110000;
const blockSize = 128;

const flags = {
  control: 1,
  space: 2,
  punctuation: 4,
  nonspacingMark: 8,
  wordPart: 16,
  wholeWord: 32,
  cased: 64,
  caseIgnorable: 128,
  number: 256,
};
const wordClasses = { other: 0, letter: 1, digit: 2, mark: 3, han: 4, kana: 5, hangul: 6, unspaced: 7 };

const patterns = [
  [flags.control, /^[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]$/u],
  [flags.space, /^\s$/u],
  [flags.punctuation, /^[\p{P}\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]$/u],
  [flags.nonspacingMark, /^\p{Mn}$/u],
  [flags.wordPart, /^[\p{L}\p{N}\p{M}]$/u],
  [flags.wholeWord, /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u],
  [flags.cased, /^\p{Cased}$/u],
  [flags.caseIgnorable, /^\p{Case_Ignorable}$/u],
  [flags.number, /^\p{N}$/u],
];

function flagsOf(codePoint, character) {
  let found = 0;
  for (const [flag, pattern] of patterns) if (pattern.test(character)) found |= flag;
  const isLineOrTab = codePoint === 0x09 || codePoint === 0x0a || codePoint === 0x0d;
  if (isLineOrTab) found &= ~flags.control;
  if (found & flags.wholeWord) found &= ~flags.wordPart;
  return found;
}

// Script ranges that determine the words and grams of the lexical analysis. Later ranges override earlier ones.
const scriptRanges = [
  ['han', [0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xf900, 0xfaff], [0x3005, 0x3007], [0x20000, 0x3ffff]],
  ['kana', [0x3041, 0x3096], [0x3099, 0x309a], [0x309d, 0x309f], [0x30a1, 0x30fa], [0x30fc, 0x30ff]],
  ['kana', [0x31f0, 0x31ff], [0xff66, 0xff9f]],
  ['hangul', [0x1100, 0x11ff], [0x3131, 0x318e], [0xa960, 0xa97c], [0xac00, 0xd7a3], [0xd7b0, 0xd7fb]],
  ['unspaced', [0x0e01, 0x0e3a], [0x0e40, 0x0e4e], [0x0e81, 0x0ece], [0x0edc, 0x0edf]],
  ['unspaced', [0x1000, 0x103f], [0x1050, 0x109d], [0xa9e0, 0xa9ef], [0xa9fa, 0xa9fe], [0xaa60, 0xaa7f]],
  ['unspaced', [0x1780, 0x17d3], [0x17d7, 0x17d7], [0x17dc, 0x17dd]],
  ['mark', [0xad, 0xad], [0x200c, 0x200d], [0x2060, 0x2060]],
];
const scriptClasses = new Uint8Array(codePoints);
for (const [kind, ...ranges] of scriptRanges) {
  for (const [first, last] of ranges) scriptClasses.fill(wordClasses[kind], first, last + 1);
}

function wordClassOf(codePoint, character) {
  const script = scriptClasses[codePoint];
  if (script !== 0) return script;
  if (codePoint > 0xffff) return /[\p{L}\p{N}]/u.test(character) ? wordClasses.letter : wordClasses.other;
  if (/[\p{L}\p{Nl}]/u.test(character)) return wordClasses.letter;
  if (/\p{N}/u.test(character)) return wordClasses.digit;
  return /\p{M}/u.test(character) ? wordClasses.mark : wordClasses.other;
}

const isHangulSyllable = (codePoint) => codePoint >= 0xac00 && codePoint <= 0xd7a3;
const pointsOf = (text) => Array.from(text, (character) => character.codePointAt(0));

const pool = [0];
const poolOffsets = new Map();
/**
 * Offset of a decomposition in the pool (its length, then its code points); 0 for a character without decomposition.
 */
function pooled(codePoint, decomposed) {
  const points = pointsOf(decomposed);
  if (isHangulSyllable(codePoint) || (points.length === 1 && points[0] === codePoint)) return 0;
  const key = points.join(' ');
  if (!poolOffsets.has(key)) {
    poolOffsets.set(key, pool.length);
    pool.push(points.length, ...points);
  }
  return poolOffsets.get(key);
}

/**
 * JavaScript exposes no canonical combining class, but canonical ordering reveals it: a mark is moved before
 * another exactly if its class is lower. Marks are therefore ranked by their order among each other; ranks
 * serve as well as the classes.
 */
function combiningRanks() {
  const isReordered = (first, second) => {
    const pair = String.fromCodePoint(first, second);
    return pair.normalize('NFD') !== pair;
  };
  const decomposes = (codePoint) => {
    const character = String.fromCodePoint(codePoint);
    return character.normalize('NFD') !== character;
  };
  // U+0334 has class 1, the lowest, and U+0345 class 240, the highest: each detects the marks of other classes.
  const marks = [];
  for (let codePoint = 0x300; codePoint < codePoints; codePoint += 1) {
    if (codePoint >= 0xd800 && codePoint < 0xe000) continue;
    if (isHangulSyllable(codePoint) || decomposes(codePoint)) continue;
    if (isReordered(codePoint, 0x334) || isReordered(0x345, codePoint)) marks.push(codePoint);
  }
  const classes = [];
  for (const mark of marks) {
    const own = classes.find(({ member }) => !isReordered(member, mark) && !isReordered(mark, member));
    if (own === undefined) classes.push({ member: mark, marks: [mark] });
    else own.marks.push(mark);
  }
  classes.sort((left, right) => (isReordered(left.member, right.member) ? 1 : -1));
  const ranks = new Uint8Array(codePoints);
  classes.forEach((group, index) => {
    for (const mark of group.marks) ranks[mark] = index + 1;
  });
  return ranks;
}

const ranks = combiningRanks();
const assigned = /^\P{Cn}$/u;
const records = [];
const recordOf = new Map();
const indices = new Uint16Array(codePoints);
const assignedRanges = [];
const compositions = [];

function lowerDelta(codePoint, character) {
  const lower = pointsOf(character.toLowerCase());
  // Only U+0130 becomes two characters; unicode.cc handles it.
  return lower.length === 1 ? lower[0] - codePoint : 0;
}

function composition(codePoint, character) {
  const points = pointsOf(character.normalize('NFD'));
  if (points.length < 2 || isHangulSyllable(codePoint) || character.normalize('NFC') !== character) return;
  const first = pointsOf(String.fromCodePoint(...points.slice(0, -1)).normalize('NFC'));
  const last = points.at(-1);
  if (first.length !== 1 || String.fromCodePoint(first[0], last).normalize('NFC') !== character) {
    throw new Error(`no pair composes to U+${codePoint.toString(16)}`);
  }
  compositions.push([first[0], last, codePoint]);
}

for (let codePoint = 0; codePoint < codePoints; codePoint += 1) {
  const character = String.fromCodePoint(codePoint);
  const isSurrogate = codePoint >= 0xd800 && codePoint < 0xe000;
  if (assigned.test(character)) {
    const last = assignedRanges.at(-1);
    if (last !== undefined && last[1] === codePoint - 1) last[1] = codePoint;
    else assignedRanges.push([codePoint, codePoint]);
  }
  const record = [
    flagsOf(codePoint, character),
    ranks[codePoint],
    wordClassOf(codePoint, character),
    lowerDelta(codePoint, character),
    isSurrogate ? 0 : pooled(codePoint, character.normalize('NFD')),
    isSurrogate ? 0 : pooled(codePoint, character.normalize('NFKD')),
  ].join(',');
  if (!recordOf.has(record)) {
    recordOf.set(record, records.length);
    records.push(record);
  }
  indices[codePoint] = recordOf.get(record);
  if (!isSurrogate) composition(codePoint, character);
}

const blocks = [];
const blockOf = new Map();
const stages = [];
for (let start = 0; start < codePoints; start += blockSize) {
  const block = indices.subarray(start, start + blockSize).join(',');
  if (!blockOf.has(block)) {
    blockOf.set(block, blocks.length);
    blocks.push(block);
  }
  stages.push(blockOf.get(block));
}

function print(head, items) {
  const lines = [head];
  let line = ' ';
  for (const item of items) {
    if (line.length + item.length + 2 > 118) {
      lines.push(line);
      line = ' ';
    }
    line += ` ${item},`;
  }
  process.stdout.write(`${[...lines, line, '};'].join('\n')}\n\n`);
}

compositions.sort((left, right) => left[0] - right[0] || left[1] - right[1]);
const hex = (codePoint) => `0x${codePoint.toString(16)}`;
process.stdout.write(`// Generated by generate_tables.mjs from Unicode ${process.versions.unicode}; do not edit.\n`);
const ranges = assignedRanges.map(([first, last]) => `${first.toString(16)}-${last.toString(16)}`);
process.stdout.write(`// Code points that this version assigns: ${ranges.join(' ')}\n\n`);
print('// Block number of each 128 code points.\nconstexpr uint16_t kStages[] = {', stages.map(String));
print(
  '// Record number of each code point of a block.\nconstexpr uint16_t kBlocks[] = {',
  blocks.flatMap((block) => block.split(',')),
);
print(
  'constexpr CharacterProperties kRecords[] = {',
  records.map((record) => `{${record}}`),
);
print('// Decompositions: length, then code points.\nconstexpr char32_t kPool[] = {', pool.map(hex));
print(
  '// Sorted by the first, then the second character.\nconstexpr Composition kCompositions[] = {',
  compositions.map((triple) => `{${triple.map(hex).join(',')}}`),
);
