import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cpuMsOf } from './cpu-time.ts';

/** wrk, a load generator in C: on a shared machine it leaves more CPU to the server than one in JavaScript. */

export interface WrkJob {
  readonly port: number;
  readonly key: string;
  readonly operation: string;
  /** JSON bodies, sent cyclically. */
  readonly bodies: readonly object[];
  readonly connections: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly serverPid: number;
}

export interface WrkOutcome {
  readonly replies: number;
  readonly windowMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly mostMs: number;
  readonly serverCpuMs: number | null;
}

const run = promisify(execFile);

/** Returns the version, e.g. "wrk 4.1.0"; null if wrk is not installed. */
export async function wrkVersion(): Promise<string | null> {
  try {
    // Prints the version and exits with 1.
    await run('wrk', ['-v']);
    return null;
  } catch (error) {
    const { stdout = '', stderr = '', code } = error as { stdout?: string; stderr?: string; code?: unknown };
    if (code === 'ENOENT') return null;
    return /wrk \S+/.exec(stdout + stderr)?.[0] ?? null;
  }
}

/**
 * Runs a closed loop with wrk on one thread. wrk only supports whole seconds, so that both durations are
 * rounded up. Errors: rejects if a reply is missing or its status is not 200.
 */
export async function runWrk(job: WrkJob): Promise<WrkOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-wrk-'));
  try {
    const script = join(folder, 'requests.lua');
    const bodies = join(folder, 'bodies.jsonl');
    await writeFile(bodies, job.bodies.map((body) => `${JSON.stringify(body)}\n`).join(''));
    await writeFile(script, scriptOf(job, bodies));
    if (job.warmUpSeconds > 0) await wrk(job, script, job.warmUpSeconds);
    const before = cpuMsOf(job.serverPid);
    const outcome = await wrk(job, script, job.seconds);
    const after = cpuMsOf(job.serverPid);
    return { ...outcome, serverCpuMs: before === null || after === null ? null : after - before };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function scriptOf({ key, operation }: WrkJob, bodies: string): string {
  return `
local requests, at = {}, 0
function init(args)
  local headers = { ["authorization"] = "Bearer ${key}", ["content-type"] = "application/json" }
  for line in io.lines(${JSON.stringify(bodies)}) do
    requests[#requests + 1] = wrk.format("POST", "/v1/${operation}", headers, line)
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("FIGURES %d %d %d %d %d %d %d %d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.timeout + e.status, latency:percentile(50), latency:percentile(90),
    latency:percentile(99), latency:percentile(99.9), latency.max))
end
`;
}

async function wrk(
  { port, connections }: WrkJob,
  script: string,
  seconds: number,
): Promise<Omit<WrkOutcome, 'serverCpuMs'>> {
  const duration = `${Math.max(1, Math.ceil(seconds))}s`;
  const programArguments = ['-t', '1', '-c', String(connections), '-d', duration, '-s', script];
  const { stdout } = await run('wrk', [...programArguments, `http://127.0.0.1:${port}`]);
  const figures = /^FIGURES (.*)$/m.exec(stdout)?.[1]?.split(' ').map(Number);
  if (figures === undefined) throw new Error(`The output of wrk has no figures:\n${stdout}`);
  const [replies = 0, us = 0, errors = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, most = 0] = figures;
  if (errors > 0 || replies === 0)
    throw new Error(`wrk got ${errors} errors in ${replies} replies.\n${stdout}`);
  const [p50Ms, p90Ms, p99Ms, p999Ms, mostMs] = [p50, p90, p99, p999, most].map((value) => value / 1_000);
  return {
    replies,
    windowMs: us / 1_000,
    p50Ms: p50Ms!,
    p90Ms: p90Ms!,
    p99Ms: p99Ms!,
    p999Ms: p999Ms!,
    mostMs: mostMs!,
  };
}

/** Returns the client of the closed loop; wrk only supports whole seconds and is not used for shorter windows. */
export async function closedLoopClient(
  seconds: number,
): Promise<{ client: 'own' | 'wrk'; description: string }> {
  if (seconds < 1)
    return {
      client: 'own',
      description: 'a worker thread of the bench (wrk cannot measure fractions of a second)',
    };
  const version = await wrkVersion();
  if (version === null)
    return { client: 'own', description: 'a worker thread of the bench (wrk is not on the path)' };
  return { client: 'wrk', description: version };
}
