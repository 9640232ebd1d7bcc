import type { StoredChunk } from '../store/content.ts';
import type { Language } from '../text/languages.ts';
import { type AnalysedQuery, matchedWords } from '../text/query.ts';
import { type ChildSource, type ComparedQuery, scoreChildren } from './children.ts';
import type { Operators } from './operators.ts';
import { splitByPage } from './page-of.ts';
import type { Passage } from './passages.ts';

/** The pages a passage lies on, and how much of its score each deserves. */
export async function pagesOf(
  passage: Passage,
  query: ComparedQuery,
  source: ChildSource,
): Promise<{ pageIndex: number; share: number }[]> {
  const { pageStart, pageEnd, children } = passage.chunk;
  if (pageEnd - pageStart === 1) return [{ pageIndex: pageStart, share: 1 }];
  const starts = source.reader.layout(passage.version)?.pageStarts;
  if (starts === undefined) return [];
  const best = new Map<number, number>();
  for (const { index, score } of await scoreChildren([passage], query, source)) {
    for (const { page, share } of pagesOfChild(query.analysed, passage, children[index]!, starts))
      best.set(page, Math.max(best.get(page) ?? 0, score * share));
  }
  const most = Math.max(...best.values(), Number.EPSILON);
  return [...best].map(([pageIndex, score]) => ({ pageIndex, share: score / most }));
}

/** On short pages one precise chunk lies on several: the one with most of the words it was found by is meant. */
function pagesOfChild(
  analysed: AnalysedQuery,
  { chunk }: Passage,
  child: StoredChunk['children'][number],
  starts: Uint32Array,
): { page: number; share: number }[] {
  const pieces = splitByPage(starts, chunk.text.slice(child.start, child.end), child.startCodePoint);
  const language = chunk.language as Language | null;
  const weights = pieces.map(({ text }) => matchedWords(analysed, text, language).length);
  const most = Math.max(...weights);
  return pieces.map(({ page }, i) => ({ page, share: (1 + weights[i]!) / (1 + most) }));
}

/** The pages a passage lies on with text that the operators let pass; without operators all of them. */
export function pagesThatPass(
  { version, chunk }: Passage,
  operators: Operators | null,
  reader: ChildSource['reader'],
): number[] {
  const { text, start, pageStart, pageEnd } = chunk;
  const passes = (part: string) => operators === null || operators.pass(part);
  if (pageEnd - pageStart === 1) return passes(text) ? [pageStart] : [];
  const starts = reader.layout(version)?.pageStarts;
  if (starts === undefined) return [];
  return splitByPage(starts, text, start).flatMap((piece) =>
    piece.text.trim() !== '' && passes(piece.text) ? [piece.page] : [],
  );
}
