import { lightStem } from '../../src/models/light-stem.ts';
import { encodeRarities } from '../../src/models/word-rarity.ts';
import { eachWord, normaliseWord } from '../../src/text/wordpiece.ts';
import { readPassages } from './corpus.ts';
import type { Progress } from './progress.ts';

const passagesMin = 4;

const inverseFrequency = (total: number, holding: number): number =>
  Math.log(1 + (total - holding + 0.5) / (holding + 0.5));

/** The word rarities of the training text, as the reranker's file. */
export async function countRarities(folder: string, progress: Progress): Promise<Uint8Array> {
  const stems = new Map<string, string>();
  const holding = new Map<string, { passages: number; last: number }>();
  let total = 0;
  for await (const { title, sentences } of readPassages(folder)) {
    total += 1;
    for (const part of [title, ...sentences]) {
      eachWord(part, (raw) => {
        let stem = stems.get(raw);
        if (stem === undefined) {
          stem = lightStem(normaliseWord(raw));
          stems.set(raw, stem);
        }
        const known = holding.get(stem);
        if (known === undefined) holding.set(stem, { passages: 1, last: total });
        else if (known.last !== total) {
          known.passages += 1;
          known.last = total;
        }
      });
    }
    progress.show(`counting rarities: ${total} passages`);
  }
  const rarities = new Map<string, number>();
  for (const [stem, { passages }] of holding) {
    if (passages >= passagesMin) rarities.set(stem, inverseFrequency(total, passages));
  }
  return encodeRarities(rarities, inverseFrequency(total, passagesMin / 2));
}
