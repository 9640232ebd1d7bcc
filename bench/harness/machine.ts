import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { assertDefined } from '../../src/core/assert.ts';
import { projectRoot } from '../../src/core/root.ts';
import { CollectionIndex } from '../../src/index/collection-index.ts';

const cachesMax = 8;
/** Of x86, then of ARM, where `asimd` is NEON. */
const instructionsThatMatter = [
  ...['avx2', 'fma', 'f16c', 'avx_vnni', 'avx512f', 'avx512bw', 'avx512_vnni', 'avx512_bf16', 'avx512_fp16'],
  ...['amx_int8', 'asimd', 'asimdhp', 'asimddp', 'i8mm', 'bf16', 'sve', 'sve2'],
];

/** Where a measurement was taken and of what. */
export interface MachineFacts {
  readonly processor: string;
  /** What tells processors of one name apart; null where the system does not say. Not in reports before 22 November. */
  readonly processorModel?: string | null;
  /** Sets of instructions that engines and models make use of, as the system calls them. */
  readonly instructions?: readonly string[];
  /** Of one core, smallest first. */
  readonly caches?: readonly string[];
  /** What our engine computes with. */
  readonly kernels?: string;
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
    ...processorFacts(readOrNull('/proc/cpuinfo')),
    caches: caches(),
    // No case chooses others.
    kernels: assertDefined(CollectionIndex.runnableKernels().at(-1), 'every processor runs the scalar ones'),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()} ${process.arch}`,
    node: process.versions.node,
    quarry: version,
    commit: commit(),
    loadBefore: oneMinuteLoad(),
  };
}

/** What Linux says of the first core, in the words of x86 or of ARM. */
export function processorFacts(
  cpuinfo: string | null,
): Pick<MachineFacts, 'processorModel' | 'instructions'> {
  const line = (name: string) => new RegExp(`^${name}\\s*:\\s*(.+)$`, 'm').exec(cpuinfo ?? '')?.[1] ?? null;
  const parts = ['vendor_id', 'cpu family', 'model', 'stepping', 'CPU implementer', 'CPU part'].flatMap(
    (name) => {
      const value = line(name);
      return value === null ? [] : [name === 'vendor_id' ? value : `${name} ${value}`];
    },
  );
  const flags = new Set((line('flags') ?? line('Features') ?? '').split(' '));
  return {
    processorModel: parts.length === 0 ? null : parts.join(', '),
    instructions: instructionsThatMatter.filter((name) => flags.has(name)),
  };
}

function caches(): string[] {
  const folder = '/sys/devices/system/cpu/cpu0/cache';
  return Array.from({ length: cachesMax }, (_, i) => i).flatMap((i) => {
    const [level, type, size] = ['level', 'type', 'size'].map((fact) =>
      readOrNull(join(folder, `index${i}`, fact))?.trim(),
    );
    return size === undefined || type === 'Instruction' ? [] : [`L${level} ${size}`];
  });
}

/** Null where there is no such file: on other systems than Linux, or in a container that hides it. */
function readOrNull(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
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
