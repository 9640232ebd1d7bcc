import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from '../support/tap.ts';
import type { CampaignReport } from './report.ts';

t.setTimeout(7_200_000);

const command = fileURLToPath(new URL('./main.js', import.meta.url));

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly report: CampaignReport | null;
}

/** Runs the campaign as a child process from the command line. */
async function campaign(t: Test, ...flags: string[]): Promise<Outcome> {
  const report = join(t.testdir(), 'report.json');
  const child = spawn(
    'env',
    ['-u', 'NODE_OPTIONS', process.execPath, command, '--report', report, ...flags],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const parts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => parts.push(part));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const out = Buffer.concat(parts).toString();
  return { code, out, report: existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null };
}

/** Smallest size at which each part takes all of its measurements. */
const small: Readonly<Record<string, readonly string[]>> = {
  kill: ['--rounds', '3'],
  tenants: [],
  disk: ['--rounds', '3'],
  clock: ['--rounds', '2'],
  hostile: ['--mutations', '2'],
  overload: ['--minutes', '0.5'],
  bodies: ['--minutes', '0.5'],
  soak: ['--minutes', '0.5'],
};

/**
 * Measurements of half a minute beside other tests: durations, shares and memory are meaningful only in a long run
 * on an idle machine.
 */
const measured = ['latency', 'accepted', 'refusals', 'event-loop', 'memory', 'shares'];
const timed = new Set(measured.flatMap((name) => [`overload ${name}`, `bodies ${name}`]));

t.test('invalid flags are rejected with a message', async (t) => {
  for (const [flags, words] of [
    [['--only', 'nothing'], /no part "nothing"/],
    [['--minutes', 'soon'], /--minutes must be a number/],
    [['--rounds', '1.5'], /--rounds must be a whole number/],
    [['--fast'], /--fast/],
  ] as const) {
    const { code, out } = await campaign(t, ...flags);
    t.equal(code, 2);
    t.match(out, words);
  }
});

t.test('every part is listed and run here', async (t) => {
  const { code, out } = await campaign(t, '--list');
  t.equal(code, 0);
  t.same([...out.matchAll(/^(\w+):/gm)].map(([, name]) => name).sort(), Object.keys(small).sort());
});

for (const [name, size] of Object.entries(small)) {
  t.test(`${name}: the guarantees hold`, async (t) => {
    const { code, out, report } = await campaign(t, '--only', name, '--seed', '1', ...size);
    const violated = report?.parts[0]?.guarantees.filter(({ outcome }) => outcome === 'violated') ?? [];
    const unexpected = violated.filter((guarantee) => !timed.has(`${name} ${guarantee.name}`));
    t.same(unexpected, [], out);
    if (violated.length > 0) return;
    t.equal(code, 0, out);
    t.match(report, { format: 1, seed: 1, violations: 0, machine: { cores: Number }, parts: [{ name }] });
  });

  t.test(`${name}: a planted fault is detected`, async (t) => {
    const { code, report } = await campaign(t, '--only', name, '--seed', '1', '--plant-fault', ...size);
    t.equal(code, 1);
    t.ok((report?.violations ?? 0) > 0);
    const violated = report?.parts[0]?.guarantees.filter(({ outcome }) => outcome === 'violated') ?? [];
    t.ok(violated.length > 0);
    t.notOk(
      violated.some((guarantee) => guarantee.name === 'completes'),
      'the check detects the fault',
    );
  });
}
