// The npm packages: `quarry`, and the prebuilt addon that it depends on optionally.
import { join } from 'node:path';
import { listFiles } from '../bin/fingerprint.js';
import { copyFile, runtimeDependencies, stageBuild, writeJson, writeText } from './stage-application.js';

const addonName = '@quarry/native-linux-x64';
/** The launcher without the parts that build and check a clone. */
const cloneOnly = new Set(['dev.js', 'test-one.js', 'check.js', 'check-spelling.js', 'compile-typescript.js']);

export function stageNpmAddon({ root, manifest, folder }) {
  const { version, license } = manifest;
  copyFile(join(root, 'build', 'Release', 'quarry.node'), join(folder, 'quarry.node'));
  copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeText(
    join(folder, 'README.md'),
    '# Search engine of Quarry\n\nThe compiled engine of the package `quarry` for Linux x64 with glibc 2.34 or later.\n',
  );
  writeJson(join(folder, 'package.json'), {
    name: addonName,
    version,
    description: 'Compiled search engine of Quarry for Linux x64',
    license,
    main: 'quarry.node',
    ...{ os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
    files: ['quarry.node'],
  });
}

export function stageNpmServer({ root, manifest, folder }) {
  stageBuild(root, folder);
  for (const path of listFiles(root, 'bin', (name) => name.endsWith('.js') && !cloneOnly.has(name)))
    copyFile(join(root, path), join(folder, path), path.endsWith('quarry.js') ? 0o755 : 0o644);
  // Sources of the addon, for platforms without a prebuilt one.
  for (const path of ['binding.gyp', 'README.md', ...listFiles(root, 'native', () => true)])
    copyFile(join(root, path), join(folder, path));
  const { name, version, description, license, type, engines, bin } = manifest;
  writeJson(join(folder, 'package.json'), {
    ...{ name, version, description, license, type, engines, bin },
    // npm would compile at each installation; the launcher compiles at the first start, if at all.
    gypfile: false,
    dependencies: runtimeDependencies(manifest),
    optionalDependencies: { ...manifest.optionalDependencies, [addonName]: version },
  });
}
