import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkBlobHashes } from '../../src/app/diagnostics/deep-checks.ts';
import type { Finding } from '../../src/app/diagnostics/finding.ts';
import {
  checkClock,
  checkDisk,
  checkMemory,
  checkOpenFiles,
} from '../../src/app/diagnostics/machine-checks.ts';
import { checkBackups, checkCertificate, checkFormat } from '../../src/app/diagnostics/service-checks.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { currentFormat } from '../../src/storage/migrations.ts';
import { firstCertificate } from '../http/certificate-pairs.ts';
import t, { type Test } from '../support/tap.ts';
import { runQuarry } from './quarry.ts';

const machine = { cores: 2, memoryBytes: 8e9 };
const { signal } = new AbortController();

function createFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-doctor-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

function createData(t: Test, format = currentFormat): string {
  const data = join(createFolder(t), 'data');
  mkdirSync(join(data, 'store'), { recursive: true });
  writeFileSync(join(data, 'format.json'), JSON.stringify({ format }));
  return data;
}

function settingsOf(data: string, variables: Readonly<Record<string, string>> = {}) {
  const prefixed = Object.entries(variables).map(([name, value]) => [`QUARRY_${name}`, value]);
  const sources = { flags: {}, workingFolder: data, machine };
  return loadSettings({ ...sources, variables: { QUARRY_DATA: data, ...Object.fromEntries(prefixed) } })
    .settings;
}

t.test('disk, memory and open files', async (t) => {
  const data = createData(t);
  t.match(await checkDisk(settingsOf(data, { DISK_RESERVE_BYTES: '0' })), {
    check: 'disk',
    detail: /GB free for/,
  });
  const full = await checkDisk(settingsOf(data, { DISK_RESERVE_BYTES: '90TB' }));
  t.match(full, {
    state: 'failed',
    detail: /writes are rejected below 90000.0 GB/,
    advice: /Enlarge the disk/,
  });
  t.match(checkMemory(settingsOf(data, { MEMORY_BYTES_MAX: '90TB' })), {
    state: 'failed',
    advice: /MEMORY_BYTES_MAX/,
  });
  t.match(await checkOpenFiles(null), { detail: /limit of this shell: / });
  t.match(await checkOpenFiles(process.pid), { detail: /limit of the server \(process \d+\): / });
});

t.test('a clock that is behind the newest write', async (t) => {
  const data = createData(t);
  const file = join(data, 'store', '000012.log');
  writeFileSync(file, '');
  const now = Date.parse('2026-11-27T12:00:00Z');
  utimesSync(file, now / 1_000, now / 1_000 + 30);
  t.match(await checkClock(settingsOf(data), now), { state: 'ok' });
  utimesSync(file, now / 1_000, now / 1_000 + 3_600);
  t.match(await checkClock(settingsOf(data), now), {
    state: 'failed',
    detail: /the clock is behind/,
    advice: /NTP/,
  });
});

t.test('the format of the data directory', async (t) => {
  t.match(await checkFormat(settingsOf(createData(t))), { state: 'ok' });
  t.match(await checkFormat(settingsOf(createData(t, 1))), { state: 'warning', advice: /upgrade --check/ });
  t.match(await checkFormat(settingsOf(createData(t, 99))), { state: 'failed', advice: /newer version/ });
});

t.test('doctor checks the certificate', async (t) => {
  const data = createData(t);
  const [certificate, key] = [join(data, 'server.pem'), join(data, 'server.key')];
  writeFileSync(certificate, firstCertificate.certificate);
  writeFileSync(key, firstCertificate.key, { mode: 0o600 });
  const settings = settingsOf(data, { TLS_CERTIFICATE_FILE: certificate, TLS_KEY_FILE: key });
  const found = await checkCertificate(settings, Date.now());
  t.match(found, { state: 'ok', detail: /one\.example\.com.* expires at 21/ });
  const expiresAt = Date.parse(/expires at (\S+),/.exec(found.detail)![1]!);
  const daysBefore = (days: number) => checkCertificate(settings, expiresAt - days * 86_400_000);
  t.match(await daysBefore(10), { state: 'warning', detail: /in 10 days/, advice: /Renew/ });
  t.match(await daysBefore(1), { state: 'failed' });
  t.match(await daysBefore(-1), { state: 'failed', detail: /expired at/ });
  t.match(await checkCertificate(settingsOf(data), Date.now()), { state: 'skipped' });
});

t.test('doctor checks the backups', async (t) => {
  const data = createData(t);
  const check = (variables: Readonly<Record<string, string>>) =>
    checkBackups(settingsOf(data, variables), Date.now(), signal);
  t.match(await check({}), { state: 'warning', advice: /another disk/ });
  t.match(await check({ BACKUP_TARGET: createFolder(t) }), { state: 'failed', detail: /no backup in/ });
});

t.test('a damaged file of a document', async (t) => {
  const data = createData(t);
  const hash = createHash('sha256').update('herring').digest('hex');
  const folder = join(data, 'blobs', hash.slice(0, 2), hash.slice(2, 4));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, hash), 'herring');
  t.match(await checkBlobHashes(settingsOf(data), signal), {
    state: 'ok',
    detail: /^1 file with .* compared/,
  });
  writeFileSync(join(folder, hash), 'herrinG');
  const found = await checkBlobHashes(settingsOf(data), signal);
  t.match(found, {
    state: 'failed',
    detail: `1 of 1 file damaged: ${join(folder, hash)}`,
    advice: /Restore/,
  });
});

t.test('the exit code and the JSON report for monitoring', async (t) => {
  const missing = await runQuarry(['doctor', '--data', join(createFolder(t), 'none')]);
  t.equal(missing.code, 1);
  t.match(missing.out, /^FAILED {3}data directory: .*is not a Quarry data directory\n {9}Set --data/);
  const data = createData(t);
  const { code, out } = await runQuarry(['doctor', '--json', '--data', data]);
  const report = JSON.parse(out) as { state: string; findings: Finding[] };
  t.ok(report.findings.length >= 7);
  const states = new Set(report.findings.map(({ state }) => state));
  const [expected, expectedCode] = states.has('failed') ? ['failed', 1] : ['warning', 4];
  t.equal(report.state, expected, 'at least the backups cause a warning');
  t.equal(code, expectedCode);
  for (const { state, advice, check } of report.findings)
    t.equal(advice !== null, state === 'warning' || state === 'failed', check);
});
