import { encodeIdfTable } from '../../src/models/idf-table.ts';
import { toLightStem } from '../../src/models/light-stem.ts';
import { forEachWord, normalizeWord } from '../../src/text/wordpiece.ts';
import { readPassages } from './corpus.ts';
import type { TerminalProgress } from './terminal-progress.ts';

const passagesMin = 4;

const computeIdf = (total: number, passageCount: number): number =>
  Math.log(1 + (total - passageCount + 0.5) / (passageCount + 0.5));

/** Computes the IDF table of the training text in the file format of the reranker. */
export async function computeIdfTable(folder: string, progress: TerminalProgress): Promise<Uint8Array> {
  const stems = new Map<string, string>();
  const passageCounts = new Map<string, { passages: number; last: number }>();
  let total = 0;
  for await (const { title, sentences } of readPassages(folder)) {
    total += 1;
    for (const part of [title, ...sentences]) {
      forEachWord(part, (raw) => {
        let stem = stems.get(raw);
        if (stem === undefined) {
          stem = toLightStem(normalizeWord(raw));
          stems.set(raw, stem);
        }
        const entry = passageCounts.get(stem);
        if (entry === undefined) passageCounts.set(stem, { passages: 1, last: total });
        else if (entry.last !== total) {
          entry.passages += 1;
          entry.last = total;
        }
      });
    }
    progress.update(`counting stems: ${total} passages`);
  }
  const idfByStem = new Map<string, number>();
  for (const [stem, { passages }] of passageCounts) {
    if (passages >= passagesMin) idfByStem.set(stem, computeIdf(total, passages));
  }
  return encodeIdfTable(idfByStem, computeIdf(total, passagesMin / 2));
}
