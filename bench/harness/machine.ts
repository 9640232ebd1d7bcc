import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/root.ts';

/** Where a measurement was taken and of what. */
export interface MachineFacts {
  readonly processor: string;
  /** Threads this process may run on at once. */
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly quarry: string;
  /** Git commit, with "+" when files differ from it; null outside a checkout. */
  readonly commit: string | null;
  /** Processes that wanted to run in the last minute, on average. */
  readonly loadBefore: number;
}

/** The facts now, before anything is measured. */
export function machineFacts(): MachineFacts {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()} ${process.arch}`,
    node: process.versions.node,
    quarry: version,
    commit: commit(),
    loadBefore: oneMinuteLoad(),
  };
}

export function oneMinuteLoad(): number {
  return loadavg()[0] ?? 0;
}

function commit(): string | null {
  try {
    const git = (...words: string[]) =>
      execFileSync('git', words, { cwd: projectRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const changed = git('status', '--porcelain', '--untracked-files=no').trim() !== '';
    return `${git('rev-parse', '--short=10', 'HEAD').trim()}${changed ? '+' : ''}`;
  } catch {
    // An archive without a history, or a machine without git: the version alone has to say what was measured.
    return null;
  }
}
