import { execFileSync } from 'node:child_process';
import { projectRoot } from '../../src/core/root.ts';
import { findMessageViolations } from './commit-messages.ts';

/**
 * `npm run check:commits` checks the messages of the commits since the merge base with the default branch. Without a
 * known default branch (shallow or detached clone), or on the default branch itself, it checks the last commit.
 */
function git(...words: readonly string[]): string | null {
  try {
    return execFileSync('git', words, {
      cwd: projectRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

function listNewCommits(): string[] {
  const bases = ['origin/HEAD', 'origin/main', 'main'].map((branch) => git('merge-base', 'HEAD', branch));
  const base = bases.find((hash) => hash !== null);
  const range = base === undefined || base === null ? null : git('rev-list', '--no-merges', `${base}..HEAD`);
  if (range !== null && range !== '') return range.split('\n');
  const last = git('rev-list', '--no-merges', '--max-count=1', 'HEAD');
  return last === null || last === '' ? [] : [last];
}

const commits = listNewCommits();
for (const commit of commits) {
  const message = git('log', '-1', '--format=%B', commit) ?? '';
  const violations = findMessageViolations(message);
  if (violations.length === 0) continue;
  process.stderr.write(`${commit.slice(0, 10)} ${message.split('\n')[0]}\n  ${violations.join('\n  ')}\n`);
  process.exitCode = 1;
}
process.stdout.write(`${commits.length} commit messages checked\n`);
