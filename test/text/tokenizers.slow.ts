import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { NaturalTextSampler } from './natural-text.ts';
import { RandomUnicodeText } from './random-text.ts';
import {
  findBertDifference,
  findBuiltInDifference,
  findPlainDifference,
  flagCases,
  tokenizerJson,
} from './tokenizer-differences.ts';

/**
 * Invariants of wordpiece.test.ts and bert-tokenizer.test.ts on 500,000 distinct texts: less than two minutes of CPU
 * time.
 */
const seed = 7;
const [randomTexts, realTexts] = [300_000, 200_000];
const textsAtOnce = 10_000;

interface TextSource {
  next(): string;
}

const seenTexts = new Set<string>();

/** Batches with a total of `count` distinct texts of the source. */
function* different(source: TextSource, count: number): Generator<string[]> {
  let texts: string[] = [];
  for (const end = seenTexts.size + count; seenTexts.size < end; ) {
    const text = source.next();
    if (seenTexts.has(text)) continue;
    seenTexts.add(text);
    texts.push(text);
    if (texts.length < textsAtOnce && seenTexts.size < end) continue;
    yield texts;
    texts = [];
  }
}

/** Checks each text with one of the settings of the BERT tokenizer and with that of the built-in models. */
function firstDifference(source: TextSource, count: number): string | null {
  const settings = flagCases.map(
    ([name, flags]) => [name, findBertDifference(tokenizerJson(flags))] as const,
  );
  const builtIn = findBuiltInDifference();
  let batches = 0;
  for (const texts of different(source, count)) {
    const [name, difference] = settings[batches++ % settings.length]!;
    const found = difference(texts);
    if (found !== null) return `${name}: ${found}`;
    const other = builtIn(texts) ?? findPlainDifference(texts);
    if (other !== null) return `built in: ${other}`;
  }
  return null;
}

t.test(`${randomTexts} random texts have the ids of @huggingface/tokenizers (seed ${seed})`, async (t) => {
  t.equal(firstDifference(new RandomUnicodeText(seed), randomTexts), null);
});

t.test(`${realTexts} real texts have the ids of @huggingface/tokenizers (seed ${seed})`, async (t) => {
  t.equal(firstDifference(new NaturalTextSampler(seed), realTexts), null);
  t.equal(seenTexts.size, randomTexts + realTexts, 'the texts are distinct');
});

t.test('the committed tables equal the output of their script for the same version of Unicode', async (t) => {
  const folder = join(projectRoot, 'native', 'text');
  const tables = readFileSync(join(folder, 'unicode_tables.inc'), 'utf8');
  const version = /from Unicode ([\d.]+)/.exec(tables)![1];
  if (version === process.versions.unicode) {
    const options = { maxBuffer: 2 ** 25, encoding: 'utf8' } as const;
    t.ok(execFileSync(process.execPath, [join(folder, 'generate_tables.mjs')], options) === tables);
  } else {
    t.comment(`this Node.js has Unicode ${process.versions.unicode}, the tables have ${version}`);
  }
});
