import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from '../../src/base/root.ts';
import { OddText } from './odd-text.ts';
import { bertDifference, flagCases, plainDifference, tokenizerJson } from './tokenizer-differences.ts';

/** The promises of wordpiece.test.ts and bert-tokenizer.test.ts, on as many texts as an evening allows. */
const seed = 7;
const textsMax = 1_000_000;
const textsAtOnce = 5_000;

function firstDifference(
  count: number,
  difference: (texts: readonly string[]) => string | null,
): string | null {
  const odd = new OddText(seed);
  for (let done = 0; done < count; done += textsAtOnce) {
    const found = difference(Array.from({ length: textsAtOnce }, () => odd.next()));
    if (found !== null) return found;
  }
  return null;
}

t.test(`a million random texts have the ids of @huggingface/tokenizers (seed ${seed})`, async (t) => {
  for (const [name, flags] of flagCases) {
    const json = tokenizerJson(flags);
    t.equal(
      firstDifference(textsMax / flagCases.length, (texts) => bertDifference(json, texts)),
      null,
      name,
    );
  }
});

t.test(`a million random texts have the ids of the first implementation (seed ${seed})`, async (t) => {
  t.equal(firstDifference(textsMax, plainDifference), null);
});

t.test('the committed tables are what their script makes of the same version of Unicode', async (t) => {
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
