import type { OcrText } from '../tools/document-tools.ts';

/** Extracts the text of a page from the word table that both OCR engines write. */

/** Columns of Tesseract's TSV: level, page, block, paragraph, line, word, left, top, width, height, confidence, text. */
const columns = { block: 2, paragraph: 3, line: 4, confidence: 10, text: 11 } as const;
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
  let text = '';
  let [paragraph, line] = ['', ''];
  let [sum, count] = [0, 0];
  for (const row of table.split('\n')) {
    const cells = row.split('\t');
    const word = cells[columns.text]?.trim() ?? '';
    if (cells[0] !== wordLevel || word === '') continue;
    const confidence = Number(cells[columns.confidence]);
    sum += Math.max(0, confidence);
    count += 1;
    if (!(confidence >= wordConfidenceMin)) continue;
    const inParagraph = `${cells[columns.block]}/${cells[columns.paragraph]}`;
    const inLine = `${inParagraph}/${cells[columns.line]}`;
    if (text !== '') text += inLine === line ? ' ' : inParagraph === paragraph ? '\n' : '\n\n';
    [paragraph, line] = [inParagraph, inLine];
    text += word;
  }
  const confidence = count === 0 ? 0 : sum / count;
  if (confidence < pageConfidenceMin) return { text: '', confidence };
  return { text: joinHyphenatedWords(text), confidence };
}

function joinHyphenatedWords(text: string): string {
  return text.replace(/(\p{Ll})-\n(\p{Ll}+[^\s]*)[ \n]?/gu, '$1$2\n').trim();
}
