import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

/** The manifests of `packages`: one version, complete, and with versions of frameworks that are tested. */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const folder = join(projectRoot, 'packages');
const readManifest = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const { version } = readManifest(join(projectRoot, 'package.json')) as Manifest;
const { workspaces, devDependencies } = readManifest(join(folder, 'package.json')) as {
  readonly workspaces: readonly string[];
  readonly devDependencies: Readonly<Record<string, string>>;
};

t.test('each folder is a workspace', async (t) => {
  const folders = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'package.json')),
  );
  const installed = /^(node_modules|dist-test)$/;
  t.same(
    folders.map(({ name }) => name).filter((name) => !installed.test(name)),
    [...workspaces].sort(),
  );
});

t.test('versions of tested frameworks are exact', async (t) => {
  for (const [name, range] of Object.entries(devDependencies)) t.match(range, /^\d+\.\d+\.\d+$/, name);
});

for (const workspace of workspaces) {
  t.test(`${workspace} is complete, and has the version of the server`, async (t) => {
    const manifest = readManifest(join(folder, workspace, 'package.json')) as Manifest;
    t.match(manifest, { version, license: 'Apache-2.0', files: ['dist'] });
    t.match(manifest.description, /Quarry/);
    t.match(manifest.engines.node, /^>=\d/);
    for (const file of ['README.md', 'LICENSE']) t.ok(existsSync(join(folder, workspace, file)), file);
    for (const [name, range] of Object.entries(manifest.dependencies ?? {}))
      t.same([name, range], ['@quarry/client', version], 'the only dependency is the client');
    for (const name of Object.keys(manifest.peerDependencies ?? {}))
      t.ok(devDependencies[name], `${name} is tested`);
  });
}
