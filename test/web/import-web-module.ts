import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../src/core/root.ts';

/** Imports a module of the dashboard that has no imports and needs no browser. */
export async function importWebModule<Exports>(path: string): Promise<Exports> {
  const text = readFileSync(join(projectRoot, 'web', 'src', path), 'utf8');
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  return (await import(`data:text/javascript,${encodeURIComponent(outputText)}`)) as Exports;
}
