import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * Reads the TAP of a whole run from standard input, prints a line per test file and everything inside files that
 * failed, and writes the totals as JSON to the file named by the first argument.
 *
 * The totals are tap's own closing comment, `# { total: 7, pass: 4, fail: 1, skip: 2 }`; a run that died before it got
 * there, or that ran nothing, counts as one failure.
 */
export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** Lines of TAP in, lines for people out; `totals` holds once all lines are in. */
export class Digest {
  readonly #show: (line: string) => void;
  /** Lines since the last finished test file. */
  #pending: string[] = [];
  #totals: Totals | null = null;
  #failedFiles = 0;

  constructor(show: (line: string) => void) {
    this.#show = show;
  }

  line(text: string): void {
    const summary = /^# (\{ total: .*\})$/.exec(text);
    if (summary !== null) this.#totals = totalsOf(summary[1] ?? '');
    const point = /^(not )?ok \d+ - /.exec(text);
    if (point === null) {
      this.#pending.push(text);
      return;
    }
    if (point[1] !== undefined) {
      this.#failedFiles += 1;
      this.#pending.forEach(this.#show);
    }
    this.#pending = [];
    this.#show(text.replace(/ \{$/, ''));
  }

  /** Skipped checks are neither passed nor failed. */
  get totals(): Totals {
    const { passed, failed, skipped } = this.#totals ?? { passed: 0, failed: 1, skipped: 0 };
    const nothingRan = passed + failed + skipped === 0;
    return { passed, failed: Math.max(failed, nothingRan ? 1 : this.#failedFiles), skipped };
  }
}

function totalsOf(text: string): Totals {
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0);
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') };
}

async function digestStandardInput(file: string): Promise<void> {
  const digest = new Digest((line) => void process.stdout.write(`${line}\n`));
  for await (const line of createInterface({ input: process.stdin })) digest.line(line);
  writeFileSync(file, JSON.stringify(digest.totals));
}

const totalsFile = process.argv[2];
if (totalsFile !== undefined) await digestStandardInput(totalsFile);
