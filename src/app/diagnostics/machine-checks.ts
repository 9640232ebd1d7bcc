import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { detectMachine } from '../../config/machine.ts';
import type { Settings } from '../../config/schema.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import {
  findOptionalTools,
  optionalToolNames,
  toolDescriptions,
} from '../../parsing/tools/optional-tools.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** Checks of the machine: disk, memory, open files, clock, programs. */

const gigabyte = 1e9;
/** Free share of the disk below which it should be enlarged. */
const freeShareMin = 0.1;
const openFilesMin = 1_024;
const openFilesRecommended = 16_384;
/** The clock of a file system may differ a little. */
const clockToleranceMs = 60_000;

export async function checkDisk({ data, diskReserveBytes }: Settings): Promise<Finding> {
  const { bavail, bsize, blocks } = await statfs(data);
  const [free, size] = [bavail * bsize, blocks * bsize];
  const detail = `${formatSize(free)} of ${formatSize(size)} free for ${data}`;
  if (free < diskReserveBytes) {
    return failed(
      'disk',
      `${detail}; writes are rejected below ${formatSize(diskReserveBytes)} (QUARRY_DISK_RESERVE_BYTES)`,
      'Enlarge the disk, delete documents, or lower QUARRY_DISK_RESERVE_BYTES.',
    );
  }
  if (free < 2 * diskReserveBytes || free < freeShareMin * size)
    return warning('disk', detail, 'Enlarge the disk soon; backups and compactions need free space too.');
  return ok('disk', detail);
}

export function checkMemory({ memoryBytesMax }: Settings): Finding {
  const { memoryBytes } = detectMachine();
  const detail = `${formatSize(memoryBytes)} of memory, ${formatSize(freemem())} free; limit of the server ${formatSize(memoryBytesMax)}`;
  if (memoryBytesMax > memoryBytes)
    return failed(
      'memory',
      detail,
      'Set QUARRY_MEMORY_BYTES_MAX below the memory of the machine: the system kills a server that exceeds it.',
    );
  if (memoryBytes < gigabyte)
    return warning('memory', detail, 'Give the server at least 1 GB; large documents need more.');
  return ok('memory', detail);
}

/** `pid`: the running server; null checks the limit of this process. */
export async function checkOpenFiles(pid: number | null): Promise<Finding> {
  const text = await readFile(`/proc/${pid ?? 'self'}/limits`, 'utf8').catch(() => null);
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text ?? '')?.[1];
  if (limit === undefined) return skipped('open files', 'the limit cannot be read on this system');
  const owner = pid === null ? 'this shell' : `the server (process ${pid})`;
  const detail = `limit of ${owner}: ${limit} (ulimit -n)`;
  const count = limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
  const advice = `Raise it to ${openFilesRecommended} or more: \`ulimit -n\`, or LimitNOFILE in the systemd unit.`;
  if (count < openFilesMin) return failed('open files', detail, advice);
  return count < openFilesRecommended ? warning('open files', detail, advice) : ok('open files', detail);
}

/** Compares the clock with the newest write to the store: it must not be behind. */
export async function checkClock({ data }: Settings, now: number): Promise<Finding> {
  const folder = join(data, 'store');
  const names = await readdir(folder).catch(() => []);
  const times = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  const newest = Math.max(0, ...times);
  const detail = `clock ${toTimestamp(now)}, last write ${newest === 0 ? 'none' : toTimestamp(newest)}`;
  if (now >= newest - clockToleranceMs) return ok('clock', detail);
  return failed(
    'clock',
    `${detail}: the clock is behind`,
    'Correct the clock (NTP). Keys, sessions and expiry times depend on it.',
  );
}

export function checkTools({ office }: Settings): Finding {
  const tools = findOptionalTools();
  const missing = optionalToolNames.filter(
    (name) => tools[name] === null && (office === 'auto' || name !== 'soffice'),
  );
  if (missing.length === 0) return ok('tools', 'all optional programs are installed');
  return warning(
    'tools',
    `not installed: ${missing.join(', ')}`,
    `Install ${[...new Set(missing.map((name) => toolDescriptions[name].packages))].join(', ')} (Debian); docs/guides/formats-and-ocr.md describes their use.`,
  );
}

export function formatSize(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(0)} MB`;
}
