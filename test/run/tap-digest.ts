/** Counts of assertions in a whole run, as reported by tap: a skipped one is neither passed nor failed. */
export interface TestTotals {
  passed: number;
  failed: number;
  skipped: number;
}

/** Failed test: its file, and its title or the failure of the whole file. */
export interface FailedTest {
  readonly file: string;
  readonly title: string;
}

const testFile = /\.(?:test|slow)\.js$/;

/**
 * Converts TAP to a readable summary: a line per test file, and the whole output of failed files. `totals` and
 * `failures` are valid once all lines have been passed in.
 *
 * The totals are those of tap's closing comment, `# { total: 7, pass: 4, fail: 1, skip: 2 }`. A run without this comment
 * or without tests counts as one failure.
 */
export class TapDigest {
  readonly failures: FailedTest[] = [];
  readonly #write: (line: string) => void;
  /** Lines since the last finished test file. */
  #pending: string[] = [];
  #totals: TestTotals | null = null;
  #failedFiles = 0;
  #files = 0;
  /** Whether a file of the shared process whose output is read has failed. */
  #hasFailedFile = false;

  constructor(show: (line: string) => void) {
    this.#write = show;
  }

  line(text: string): void {
    const summary = /^# (\{ total: .*\})$/.exec(text);
    if (summary !== null) this.#totals = totalsOf(summary[1] ?? '');
    const [, indent = '', failed, point] = /^( {4})?(not )?ok \d+ - (.*)$/.exec(text) ?? [];
    const title = withoutTapSuffix(point ?? '');
    const isFile = testFile.test(title);
    if (point === undefined || (indent !== '' && !isFile)) {
      this.#pending.push(text);
      return;
    }
    const isFailed = failed !== undefined;
    // A process with several files fails with any of them, which is no failure of its own.
    if (isFailed && (isFile || !this.#hasFailedFile)) this.#reportFailedFile(title, indent.length / 4 + 1);
    this.#hasFailedFile = indent !== '' && (isFailed || this.#hasFailedFile);
    this.#pending = [];
    if (!isFile && !isFailed) return;
    if (isFile) this.#files += 1;
    this.#write(text.trim().replace(/ \{$/, ''));
  }

  get totals(): TestTotals {
    const { passed, failed, skipped } = this.#totals ?? { passed: 0, failed: 1, skipped: 0 };
    const hasNoTests = passed + failed + skipped === 0;
    return { passed, failed: Math.max(failed, hasNoTests ? 1 : this.#failedFiles), skipped };
  }

  /** Final lines of a run: the failed tests and the totals. */
  summary(seconds: number): string[] {
    const { passed, failed, skipped } = this.totals;
    const files = this.#files === 1 ? '1 file' : `${count(this.#files)} files`;
    const counts = `${count(passed)} passed, ${count(failed)} failed, ${count(skipped)} skipped`;
    const totals = `${counts} in ${files} (${Math.round(seconds)} s)`;
    if (failed === 0) return [`All tests passed: ${totals}`];
    const listed = this.failures.map(({ file, title }) => `  ${file}: ${title}`);
    return [
      'Failed tests:',
      ...(listed.length > 0 ? listed : ['  the run ended before its last test']),
      totals,
    ];
  }

  /** `testLevel`: indentation of the tests of the file; 1, or 2 in a shared process. */
  #reportFailedFile(file: string, testLevel: number): void {
    this.#failedFiles += 1;
    this.#pending.forEach(this.#write);
    const titles = failedTitles(this.#pending, testLevel);
    const reported = titles.length > 0 ? titles : ['failed outside of its tests (see its lines above)'];
    this.failures.push(...reported.map((title) => ({ file, title })));
  }
}

/**
 * Titles of the failed tests of a file, each with its first nested failure: `parser processes > kill -9 > should be
 * equal`. TAP indents nested tests by four spaces per level and prints them before the enclosing test.
 */
function failedTitles(lines: readonly string[], testLevel: number): string[] {
  const titles: string[] = [];
  /** First failure at each level below tests that have not ended yet. */
  const inner = new Map<number, string>();
  for (const line of lines) {
    const [, indent, isFailed, title = ''] = /^( {4,})(not )?ok \d+ - (.*)$/.exec(line) ?? [];
    if (indent === undefined) continue;
    const level = indent.length / 4;
    const below = inner.get(level + 1);
    inner.delete(level + 1);
    if (isFailed === undefined || /# (todo|skip)\b/i.test(title)) continue;
    const path = below === undefined ? withoutTapSuffix(title) : `${withoutTapSuffix(title)} > ${below}`;
    if (level === testLevel) titles.push(path);
    else if (!inner.has(level)) inner.set(level, path);
  }
  return titles;
}

/** Removes ` # time=6ms` and the brace that opens a block. */
function withoutTapSuffix(title: string): string {
  return title.replace(/ \{$/, '').replace(/ # time=\S+$/, '');
}

const count = (number: number) => number.toLocaleString('en-US');

function totalsOf(text: string): TestTotals {
  const named = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0);
  return { passed: named('pass'), failed: named('fail'), skipped: named('skip') + named('todo') };
}
