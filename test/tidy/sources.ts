import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type ts from 'typescript';
import { projectRoot } from '../../src/core/root.ts';
import { typescript } from '../support/typescript.ts';

export interface TypeScriptFile {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

export interface ImportEdge {
  readonly from: string;
  readonly specifier: string;
  /** Removed by the compiler. */
  readonly typeOnly: boolean;
}

/** Folders with code; other folders hold data, text or configuration. */
const codeFolders = ['src', 'workers', 'bench', 'test', 'models', 'bin', 'web', 'packages'];
const skipped = /^(node_modules|build|data|dist(-.*)?|\.git|\.tap|shared|\.cache|\.peers|latest)$/;

function filesUnder(folder: string): string[] {
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (skipped.test(entry.name)) return [];
    if (entry.isDirectory()) return filesUnder(path);
    return entry.isFile() ? [path] : [];
  });
}

export const files = filesUnder('');
export const sources: TypeScriptFile[] = files
  .filter((path) => /\.(tsx?|js)$/.test(path) && codeFolders.includes(path.split('/')[0] ?? ''))
  .map((path) => {
    const text = readFileSync(join(projectRoot, path), 'utf8');
    return {
      path,
      text,
      tree: typescript.createSourceFile(path, text, typescript.ScriptTarget.ES2023, true),
    };
  });
export const native = files.filter((path) => /^(test\/)?native\/.*\.(cc|h)$/.test(path));

export function visit(node: ts.Node, each: (node: ts.Node) => void): void {
  const visitNode = (child: ts.Node): void => {
    each(child);
    typescript.forEachChild(child, visitNode);
  };
  visitNode(node);
}

export function lineOf(file: TypeScriptFile, position: number): number {
  return file.tree.getLineAndCharacterOfPosition(position).line + 1;
}

/** Static imports, re-exports, `import()` and `import('x').Type`. */
export function importsOf(file: TypeScriptFile): ImportEdge[] {
  const edges: ImportEdge[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (specifier !== undefined && typescript.isStringLiteral(specifier)) {
      edges.push({ from: file.path, specifier: specifier.text, typeOnly });
    }
  };
  visit(file.tree, (node) => {
    if (typescript.isImportDeclaration(node)) add(node.moduleSpecifier, importsOnlyTypes(node.importClause));
    if (typescript.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    if (typescript.isImportTypeNode(node) && typescript.isLiteralTypeNode(node.argument))
      add(node.argument.literal, true);
    if (typescript.isCallExpression(node) && node.expression.kind === typescript.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
  });
  return edges;
}

export function importsOnlyTypes(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === typescript.SyntaxKind.TypeKeyword) return true;
  const names = clause.namedBindings;
  return clause.name === undefined &&
    names !== undefined &&
    typescript.isNamedImports(names) &&
    names.elements.length > 0
    ? names.elements.every((element) => element.isTypeOnly)
    : false;
}

/** Path of a relative import from the root, or null for a package. */
export function target(edge: ImportEdge): string | null {
  if (!edge.specifier.startsWith('.')) return null;
  return relative('.', join(dirname(edge.from), edge.specifier)).replaceAll('\\', '/');
}
