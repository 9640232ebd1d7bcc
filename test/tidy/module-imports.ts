import { dirname, join, relative } from 'node:path';
import { typescript } from '../support/typescript.ts';
import { importTable } from './rules.ts';
import { type ImportEdge, importsOf, sources, type TypeScriptFile, target, visit } from './sources.ts';

/** Module of a file, as in `importTable`: "storage", "cli", "workers", "test". */
export function folderOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  if (top === 'models') return 'recipes';
  if (top !== 'src') return top;
  return second.replace(/\.ts$/, '');
}

function allowedFor(path: string): readonly string[] {
  if (path.startsWith('test/e2e/')) return importTable['test/e2e'] ?? [];
  const extra = /^src\/http\/(routes|account)/.test(path) ? (importTable['http/routes'] ?? []) : [];
  return [...(importTable[folderOf(path)] ?? []), ...extra];
}

export function mayImport(edge: ImportEdge, to: string): boolean {
  const folder = folderOf(to);
  if (folder === folderOf(edge.from)) return true;
  if (folder === 'workers') return false;
  const file = to.replace(/^src\//, '').replace(/\.ts$/, '');
  return allowedFor(edge.from).some((entry) => {
    if (entry === '*' || entry === folder || entry === file) return true;
    return edge.typeOnly && entry === `type:${folder}`;
  });
}

/** All imports of the project. */
export const edges = sources.flatMap(importsOf);

/** Files that are started from outside the code: by the launcher, by Piscina, by hand. */
export function isEntry(path: string): boolean {
  return (
    /^(workers|bin)\//.test(path) ||
    ['src/cli/main.ts', 'web/src/main.tsx', 'web/vite.config.js'].includes(path) ||
    /^bench\/[^/]+$/.test(path) ||
    /^models\//.test(path)
  );
}

/**
 * Files that a file imports, or starts by a path: new URL('./child.js', import.meta.url) or
 * join(compiledRoot, 'src/child.js').
 */
export function mentions(file: TypeScriptFile): string[] {
  const found = importsOf(file)
    .map((edge) => target(edge))
    .filter((to) => to !== null);
  visit(file.tree, (node) => {
    if (!typescript.isStringLiteralLike(node) || !/^(?:\.{1,2}|src)\/.*\.(js|ts)$/.test(node.text)) return;
    const folder = node.text.startsWith('src/') ? '.' : dirname(file.path);
    found.push(relative('.', join(folder, node.text.replace(/\.js$/, '.ts'))));
  });
  return found;
}
