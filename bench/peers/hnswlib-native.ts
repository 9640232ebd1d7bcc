import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { PeerMissingError, peerFolder, peersFolder } from './peer-packages.ts';

/** Addon compiled from hnswlib_native.cc. */
export interface HnswlibNativeModule {
  readonly Index: new (
    dimensions: number,
    rows: number,
    connections: number,
    efConstruction: number,
    path: string | null,
  ) => {
    add(labels: Uint32Array, vectors: Float32Array, tags: Uint8Array, replaceDeleted: boolean): void;
    remove(labels: Uint32Array): void;
    search(vector: Float32Array, count: number, ef: number, bit: number): Uint32Array;
    save(path: string): void;
  };
}

const library = join(peersFolder, 'hnswlib_native.node');
const builtWith = join(peersFolder, 'hnswlib_native.txt');

export function requireHnswlibNative(): HnswlibNativeModule & { readonly built: string } {
  if (!existsSync(library)) {
    throw new PeerMissingError('hnswlib is not compiled. Run "npm run bench -- peers install".');
  }
  const module = createRequire(import.meta.url)(library) as HnswlibNativeModule;
  return { ...module, built: readFileSync(builtWith, 'utf8') };
}

/** Compiles the addon for this machine. Errors: Error with the output of the compiler. */
export function compileHnswlibNative(): void {
  const prefix = dirname(dirname(process.execPath));
  const headers = join(prefix, 'include', 'node');
  if (!existsSync(join(headers, 'node_api.h'))) throw new Error(`Node's headers are not in ${headers}.`);
  const compiler = process.env.CXX ?? 'c++';
  const flags = ['-O3', '-march=native', '-std=c++17', '-shared', '-fPIC', '-DNAPI_CPP_EXCEPTIONS'];
  const platform = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const folders = [
    headers,
    join(projectRoot, 'node_modules', 'node-addon-api'),
    join(peerFolder('hnswlib-node'), 'src'),
  ];
  execFileSync(
    compiler,
    [
      ...flags,
      ...platform,
      ...folders.flatMap((folder) => ['-isystem', folder]),
      '-o',
      library,
      join(projectRoot, 'bench', 'peers', 'hnswlib_native.cc'),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  );
  writeFileSync(builtWith, `${compiler} ${flags.slice(0, 2).join(' ')}, ${instructionsOf(compiler)}`);
}

/** Returns the widest instruction set that hnswlib's headers use when compiled with these flags. */
function instructionsOf(compiler: string): string {
  const macros = execFileSync(compiler, ['-march=native', '-dM', '-E', '-x', 'c++', devNull], {
    encoding: 'utf8',
  });
  const widest = [
    ['__AVX512F__', 'AVX-512'],
    ['__AVX__', 'AVX'],
    ['__SSE__', 'SSE'],
  ].find(([macro]) => macros.includes(`#define ${macro} `));
  return widest?.[1] ?? 'no vector instructions';
}
