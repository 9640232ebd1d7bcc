import { editLines, type LineText, LineTextBuilder, trimLines } from '../line-text.ts';
import { numbersPerWord, type OcrText } from '../tools/document-tools.ts';

/** Extracts the text of a page from the word table that both OCR engines write. */

/** Columns of Tesseract's TSV: level, page, block, paragraph, line, word, left, top, width, height, confidence, text. */
const columns = {
  block: 2,
  paragraph: 3,
  line: 4,
  left: 6,
  width: 8,
  height: 9,
  confidence: 10,
  text: 11,
} as const;
const pageLevel = '1';
const wordLevel = '5';
/** Minimum confidence of a word, 0 to 100; words below are usually specks or lines of a drawing. */
const wordConfidenceMin = 25;
/** Minimum mean confidence of a page, 0 to 100; a page below is a picture without text. */
const pageConfidenceMin = 30;

/**
 * Returns the recognized lines, with an empty line between paragraphs and words hyphenated at line ends
 * joined.
 */
export function parseOcrTable(table: string): OcrText {
  const joined = new LineTextBuilder();
  /** Line and box of each word of the text. */
  const positions: number[][] = [];
  let [paragraph, line, lines] = ['', '', -1];
  let [sum, count] = [0, 0];
  let [width, height] = [0, 0];
  for (const row of table.split('\n')) {
    const cells = row.split('\t');
    if (cells[0] === pageLevel)
      [width, height] = [Number(cells[columns.width]), Number(cells[columns.height])];
    const word = cells[columns.text]?.trim() ?? '';
    if (cells[0] !== wordLevel || word === '') continue;
    const confidence = Number(cells[columns.confidence]);
    sum += Math.max(0, confidence);
    count += 1;
    if (!(confidence >= wordConfidenceMin)) continue;
    const inParagraph = `${cells[columns.block]}/${cells[columns.paragraph]}`;
    const inLine = `${inParagraph}/${cells[columns.line]}`;
    if (joined.text !== '') joined.add(inLine === line ? ' ' : inParagraph === paragraph ? '\n' : '\n\n');
    if (inLine !== line) lines += 1;
    [paragraph, line] = [inParagraph, inLine];
    joined.addLine(word);
    positions.push([lines, ...cells.slice(columns.left, columns.height + 1).map(Number)]);
  }
  const confidence = count === 0 ? 0 : sum / count;
  const hasText = confidence >= pageConfidenceMin;
  const { text, edges } = hasText ? joinHyphenatedWords(joined) : { text: '', edges: [] };
  const numbers = new Uint32Array((edges.length / 2) * numbersPerWord);
  for (let i = 0; i < edges.length / 2; i++)
    numbers.set([edges[2 * i]!, edges[2 * i + 1]!, ...positions[i]!], i * numbersPerWord);
  // A table without the size of the page has no usable positions.
  return { text, confidence, ...(width > 0 && height > 0 ? { words: { width, height, numbers } } : {}) };
}

/** Moves the end of each word hyphenated at a line end to the line where the word starts. */
function joinHyphenatedWords(lineText: LineText): LineText {
  const edits = [...lineText.text.matchAll(/(\p{Ll})-\n(\p{Ll}+[^\s]*)[ \n]?/gu)].flatMap((match) => {
    const [whole, before = '', after = ''] = match;
    const hyphen = match.index + before.length;
    const end = hyphen + 2 + after.length;
    return [
      { start: hyphen, end: hyphen + 2, inserted: '' },
      { start: end, end: match.index + whole.length, inserted: '\n' },
    ];
  });
  return trimLines(editLines(lineText, edits));
}
