import type ts from 'typescript';
import { typescript } from '../support/typescript.ts';
import { outgoingApis } from './rules.ts';
import { importsOnlyTypes, type TypeScriptFile, visit } from './sources.ts';

/** Whether a file imports a value that can open connections. */
export function importsConnections(file: TypeScriptFile): boolean {
  let found = false;
  visit(file.tree, (node) => {
    const isImport = typescript.isImportDeclaration(node) && typescript.isStringLiteral(node.moduleSpecifier);
    if (!isImport || !outgoingApis.modules.test((node.moduleSpecifier as ts.StringLiteral).text)) return;
    if (importsOnlyTypes(node.importClause)) return;
    const names = node.importClause?.namedBindings;
    const isHarmless =
      names !== undefined &&
      typescript.isNamedImports(names) &&
      names.elements.every(
        ({ isTypeOnly, name, propertyName }) =>
          isTypeOnly || outgoingApis.harmless.has((propertyName ?? name).text),
      );
    if (!isHarmless) found = true;
  });
  return found;
}

/** Whether a file calls the global `fetch` instead of a parameter. */
export function callsFetch(file: TypeScriptFile): boolean {
  let [isGlobal, isGiven] = [false, false];
  visit(file.tree, (node) => {
    if (
      typescript.isPropertyAccessExpression(node) &&
      /^globalThis\.(fetch|WebSocket)$/.test(node.getText(file.tree))
    )
      isGlobal = true;
    if (
      (typescript.isBindingElement(node) || typescript.isParameter(node)) &&
      node.name.getText(file.tree) === 'fetch'
    )
      isGiven = true;
    if (typescript.isCallExpression(node) && node.expression.getText(file.tree) === 'fetch')
      isGlobal ||= !isGiven;
    if (typescript.isNewExpression(node) && node.expression.getText(file.tree) === 'WebSocket')
      isGlobal = true;
  });
  return isGlobal;
}
