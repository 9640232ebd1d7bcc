import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { forEachWord, normalizeWord, type WordPiece } from '../../src/text/wordpiece.ts';
import { readPassages, type TrainingPassage } from './corpus.ts';
import type { TerminalProgress } from './terminal-progress.ts';

/** Counts each normalized word in the training text. */
export async function countWords(folder: string, progress: TerminalProgress): Promise<Map<string, number>> {
  const raw = new Map<string, number>();
  let passages = 0;
  for await (const passage of readPassages(folder)) {
    const count = (word: string): void => {
      raw.set(word, (raw.get(word) ?? 0) + 1);
    };
    for (const part of [passage.title, passage.heading ?? '', ...passage.sentences]) forEachWord(part, count);
    passages += 1;
    progress.update(`counting words: ${passages} passages, ${raw.size} distinct words`);
  }
  const counts = new Map<string, number>();
  for (const [word, count] of raw) {
    const normalized = normalizeWord(word);
    counts.set(normalized, (counts.get(normalized) ?? 0) + count);
  }
  return counts;
}

/**
 * Encodes one passage as 16-bit little-endian words: article (low, high half), source, then title, heading
 * and the sentences, each as its token count and its tokens; a count of 0xffff ends the passage.
 * contrastive.cpp reads this format.
 */
function encodePassage(passage: TrainingPassage, pieces: WordPiece): Uint16Array {
  const words: number[] = [passage.article & 0xffff, passage.article >>> 16, passage.source];
  for (const part of [passage.title, passage.heading ?? '', ...passage.sentences]) {
    const ids = pieces.encode(part);
    words.push(ids.length, ...ids);
  }
  words.push(0xffff);
  return Uint16Array.from(words);
}

/** Writes the token file of the trainer to `path`. Returns the number of passages. */
export async function writeTokens(
  options: { folder: string; path: string; pieces: WordPiece },
  progress: TerminalProgress,
): Promise<number> {
  const file = createWriteStream(options.path);
  let passages = 0;
  for await (const passage of readPassages(options.folder)) {
    const record = encodePassage(passage, options.pieces);
    if (!file.write(Buffer.from(record.buffer, 0, record.byteLength))) {
      await once(file, 'drain');
    }
    passages += 1;
    progress.update(`tokenizing: ${passages} passages`);
  }
  file.end();
  await finished(file);
  return passages;
}
