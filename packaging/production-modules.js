// The packages that the server loads, and the files of them that it needs on Linux x64.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * Dependencies of a clone, but not of the server: the dashboard and TypeBox are bundled when it is built, and pdfjs-dist
 * has its own canvas.
 */
export const buildOnly = new Set([
  '@napi-rs/canvas',
  '@preact/signals',
  'preact',
  'preact-iso',
  'rolldown',
  'typebox',
  'uqr',
  'vite',
]);
/** Needed only to compile the addon. */
const compileOnly = 'node-addon-api';

/** Returns the folders below node_modules, relative to `root`, that `names` of the lock file need, sorted. */
export function listProductionPackages(root, lock) {
  const { packages } = lock;
  const found = new Set();
  const add = (from, name, isOptional) => {
    const path = resolvePackage(packages, from, name);
    if (path === null || !existsSync(join(root, path))) {
      if (isOptional) return;
      throw new Error(`${name}, which ${from || 'Quarry'} needs, is not installed.`);
    }
    if (found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies } = packages[path];
    for (const next of Object.keys(dependencies ?? {})) add(path, next, false);
    for (const next of Object.keys(optionalDependencies ?? {})) add(path, next, true);
  };
  for (const name of Object.keys(packages[''].dependencies))
    if (!buildOnly.has(name) && name !== compileOnly) add('', name, false);
  return [...found].sort();
}

/** Finds a dependency as Node.js does: in the nearest node_modules above `from`. */
function resolvePackage(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (folder === '') return null;
  }
}

/** Files that no package reads at run time. Licenses stay: most of them must accompany copies. */
const unneededNames = /\.(?:map|d\.[cm]?ts|[cm]?ts|tsbuildinfo|flow|cc?|cpp|hpp|h|gypi?|md|markdown|yml|yaml|musl\.node)$/i;
const licenseNames = /^(?:licen[cs]e|copying|notice|copyright|third.?party)/i;
const unneededFolders = new Set(['test', 'tests', '__tests__', 'docs', 'doc', 'example', 'examples', '.github', 'bench']);

/** What is left of large packages, as paths below the package. */
const neededParts = {
  'onnxruntime-node': /^(?:package\.json$|dist\/|LICENSE|bin\/napi-v6\/linux\/x64\/)/,
  '@nxtedition/rocksdb': /^(?:[^/]+\.js$|package\.json$|LICENSE|prebuilds\/linux-x64\/)/,
  'tesseract.js-core': /^(?:package\.json$|LICENSE|index\.js$|tesseract-core(?:-\w+)*\.(?:js|wasm)$)/,
  'tesseract.js': /^(?:package\.json$|LICENSE|src\/)/,
  'pdfjs-dist': /^(?:package\.json$|LICENSE|legacy\/build\/pdf(?:\.worker)?\.mjs$|cmaps\/|standard_fonts\/|iccs\/|wasm\/)/,
};

/** Returns the needed files of the package in `folder`, relative to it, sorted; without packages nested in it. */
export function listNeededFiles(folder, name) {
  const files = [];
  const visit = (current) => {
    for (const entry of readdirSync(current, { withFileTypes: true })) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) {
        if (entry.name === 'node_modules') continue;
        if (current === folder && unneededFolders.has(entry.name)) continue;
        visit(path);
      } else if (entry.isFile()) files.push(relative(folder, path));
    }
  };
  visit(folder);
  return files.filter((path) => isNeeded(name, path)).sort();
}

function isNeeded(name, path) {
  const file = path.slice(dirname(path) === '.' ? 0 : dirname(path).length + 1);
  if (licenseNames.test(file)) return true;
  return !unneededNames.test(file) && (neededParts[name]?.test(path) ?? true);
}
