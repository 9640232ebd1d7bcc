import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { assertDefined } from '../../src/core/assert.ts';
import { projectRoot } from '../../src/core/root.ts';
import { CollectionIndex } from '../../src/index/collection-index.ts';

const cachesMax = 8;
/** CPU features of x86, then of ARM, where `asimd` is NEON. */
const instructionsThatMatter = [
  ...['avx2', 'fma', 'f16c', 'avx_vnni', 'avx512f', 'avx512bw', 'avx512_vnni', 'avx512_bf16', 'avx512_fp16'],
  ...['amx_int8', 'asimd', 'asimdhp', 'asimddp', 'i8mm', 'bf16', 'sve', 'sve2'],
];

/** Machine and software of a measurement. */
export interface MachineFacts {
  readonly processor: string;
  /**
   * Distinguishes processors of the same name; null if the system does not report it. Missing in reports
   * before 22 November.
   */
  readonly processorModel?: string | null;
  /** Instruction sets used by engines and models, as named by the system. */
  readonly instructions?: readonly string[];
  /** Caches of one core, smallest first. */
  readonly caches?: readonly string[];
  /** Kernels that Quarry's engine uses. */
  readonly kernels?: string;
  /** Number of threads that can run at the same time. */
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly quarry: string;
  /** Git commit, with "+" if files differ from it; null outside a checkout. */
  readonly commit: string | null;
  /** Load average of the last minute. */
  readonly loadBefore: number;
}

/** Returns the current facts; called before the measurement. */
export function machineFacts(): MachineFacts {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    ...processorFacts(readOrNull('/proc/cpuinfo')),
    caches: caches(),
    // No case selects other kernels.
    kernels: assertDefined(CollectionIndex.supportedKernels().at(-1), 'every processor runs the scalar ones'),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()} ${process.arch}`,
    node: process.versions.node,
    quarry: version,
    commit: commit(),
    loadBefore: oneMinuteLoad(),
  };
}

/** Returns what Linux reports of the first core; supports the formats of x86 and ARM. */
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

/** Returns null if the file does not exist: on other systems than Linux, or in a container that hides it. */
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
    // Without git or a history, only the version identifies what was measured.
    return null;
  }
}
