import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describeProgram, type ProgramStart } from '../../src/config/program-command.ts';
import t, { type Test } from '../support/tap.ts';

function writeProgram(folder: string, ...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), '');
  }
}

/** Returns the command of a program in `folder` that was started from `workingFolder` by its script. */
function describe(
  t: Test,
  start: Pick<ProgramStart, 'script'> & Partial<ProgramStart>,
  folder: string,
): string {
  return describeProgram({ workingFolder: folder, searchPath: join(t.testdirName, 'bin'), ...start }, folder);
}

t.test('a clone is started by Node.js', async (t) => {
  const folder = t.testdir();
  writeProgram(folder, 'bin/quarry.js', 'dist/src/cli/main.js');
  const script = join(folder, 'bin', 'quarry.js');
  t.equal(describe(t, { script }, folder), 'node bin/quarry.js');
  t.equal(describe(t, { script, workingFolder: '/' }, folder), `node ${script.slice(1)}`);
  t.equal(describe(t, { script, workingFolder: join(folder, 'dist') }, folder), `node ${script}`);
  const compiled = join(folder, 'dist', 'src', 'cli', 'main.js');
  t.equal(describe(t, { script: compiled }, folder), 'node bin/quarry.js', 'npm run dev');
});

t.test('an archive is started by its launcher', async (t) => {
  const parent = t.testdir({ bin: {}, other: {} });
  const folder = join(parent, "my server's");
  writeProgram(folder, 'quarry', 'dist/src/cli/main.js');
  const script = join(folder, 'dist', 'src', 'cli', 'main.js');
  t.equal(describe(t, { script }, folder), './quarry');
  t.equal(describe(t, { script, workingFolder: parent }, folder), "'my server'\\''s/quarry'");

  symlinkSync(join(folder, 'quarry'), join(parent, 'bin', 'quarry'));
  t.equal(
    describe(t, { script }, folder),
    'quarry',
    'with a link in a folder of PATH, as in the Debian package',
  );
  writeProgram(parent, 'other/quarry');
  const searchPath = [join(parent, 'other'), join(parent, 'bin')].join(delimiter);
  t.equal(describe(t, { script, searchPath }, folder), './quarry', 'another program of PATH has the name');
});

t.test('npm packages are started by their link', async (t) => {
  const parent = t.testdir({ bin: {}, project: { node_modules: { '.bin': {} } } });
  const folder = join(parent, 'project', 'node_modules', 'quarry');
  writeProgram(folder, 'bin/quarry.js');
  const local = join(parent, 'project', 'node_modules', '.bin', 'quarry');
  const global = join(parent, 'bin', 'quarry');
  for (const link of [local, global]) symlinkSync(join(folder, 'bin', 'quarry.js'), link);
  t.equal(
    describe(t, { script: local, searchPath: dirname(local) }, folder),
    'npx quarry',
    'npx quarry serve',
  );
  t.equal(describe(t, { script: global }, folder), 'quarry', 'npm install --global');
});
