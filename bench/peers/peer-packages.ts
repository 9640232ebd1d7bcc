import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';

/** Folder of the peer engines installed by `npm run bench -- peers install`; ignored by git. */
export const peersFolder = join(projectRoot, 'bench', '.peers');

/** Packages of the peer engines with exact versions. They are not dependencies of the project. */
export const peerPackages = {
  'hnswlib-node': '3.0.0',
  usearch: '2.25.3',
  'sqlite-vec': '0.1.9',
  'better-sqlite3': '12.6.2',
  '@lancedb/lancedb': '0.26.2',
  chromadb: '3.0.0',
  pg: '8.16.3',
} as const;

export type PeerPackage = keyof typeof peerPackages;

/** Thrown if an engine is unavailable; the message describes how to install it. */
export class PeerMissingError extends Error {}

/** Loads a package from the peers' folder; hnswlib-node may also be installed in the project, for its tests. */
export function requirePeer(name: PeerPackage): unknown {
  return createRequire(join(peerFolder(name), 'package.json'))(name);
}

export function peerVersion(name: PeerPackage): string {
  const text = readFileSync(join(peerFolder(name), 'package.json'), 'utf8');
  return `${name} ${(JSON.parse(text) as { version: string }).version}`;
}

/** Returns the folder of a package. Errors: `PeerMissingError` if it is not installed. */
export function peerFolder(name: PeerPackage): string {
  for (const root of [peersFolder, projectRoot]) {
    const folder = join(root, 'node_modules', ...name.split('/'));
    if (existsSync(folder)) return folder;
  }
  throw new PeerMissingError(`${name} is not installed. Run "npm run bench -- peers install".`);
}
