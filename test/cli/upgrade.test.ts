import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpgradeReport } from '../../src/app/diagnostics/check-upgrade.ts';
import { checkUpgrade } from '../../src/app/diagnostics/check-upgrade.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { currentFormat } from '../../src/storage/migrations.ts';
import t, { type Test } from '../support/tap.ts';
import { runQuarry } from './quarry.ts';

const { signal } = new AbortController();

function createData(t: Test, content: object | null): string {
  const data = mkdtempSync(join(tmpdir(), 'quarry-upgrade-'));
  t.teardown(() => rmSync(data, { recursive: true }));
  mkdirSync(join(data, 'store'));
  writeFileSync(join(data, 'store', '000008.sst'), Buffer.alloc(1_000));
  if (content !== null) writeFileSync(join(data, 'format.json'), JSON.stringify(content));
  return data;
}

function check(data: string): Promise<UpgradeReport> {
  const machine = { cores: 2, memoryBytes: 8e9 };
  const variables = { QUARRY_DATA: data };
  return checkUpgrade(loadSettings({ flags: {}, variables, workingFolder: data, machine }).settings, signal);
}

t.test('the report of each kind of data directory', async (t) => {
  t.match(await check(createData(t, null)), { state: 'new', format: null, migrations: [], bytesNeeded: 0 });
  const current = { format: currentFormat, version: '0.1.0' };
  t.match(await check(createData(t, current)), { state: 'current', writtenBy: '0.1.0', bytesFree: Number });
  t.match(await check(createData(t, { format: 1 })), {
    state: 'migration',
    writtenBy: null,
    migrations: [{ from: 1, to: 2, description: /sign-ins/ }],
    bytesNeeded: 100,
    lastBackupAt: null,
  });
  t.match(await check(createData(t, { format: 99, version: '4.2.0' })), {
    state: 'newer',
    writtenBy: '4.2.0',
  });
  t.match(await check(join(tmpdir(), 'quarry-none', 'deeper')), { state: 'new', bytesFree: Number });
});

t.test('upgrade --check prints the effect and sets the exit code', async (t) => {
  const run = (content: object) => runQuarry(['upgrade', '--check', '--data', createData(t, content)]);
  const [current, older, newer, usage] = await Promise.all([
    run({ format: currentFormat }),
    run({ format: 1 }),
    run({ format: 99, version: '4.2.0' }),
    runQuarry(['upgrade']),
  ]);
  t.match(current, { code: 0, out: /would be opened without a migration/ });
  t.match(older, { code: 4, out: /format 1 to 2: sign-ins.*Last backup: none found.*backup create/s });
  t.match(newer, {
    code: 1,
    out: new RegExp(
      `written by Quarry 4\\.2\\.0\\. This version supports format ${currentFormat}: run Quarry 4\\.2\\.0`,
    ),
  });
  t.match(usage, { code: 2, err: /`quarry upgrade --check` shows/ });
});
