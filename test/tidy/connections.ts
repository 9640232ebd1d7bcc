import ts from 'typescript';
import { outgoingApis } from './rules.ts';
import { importsOnlyTypes, type TypeScriptFile, visit } from './sources.ts';

/** Whether a file imports a value that can open connections. */
export function importsConnections(file: TypeScriptFile): boolean {
  let found = false;
  visit(file.tree, (node) => {
    const isImport = ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier);
    if (!isImport || !outgoingApis.modules.test((node.moduleSpecifier as ts.StringLiteral).text)) return;
    if (importsOnlyTypes(node.importClause)) return;
    const names = node.importClause?.namedBindings;
    const isHarmless =
      names !== undefined &&
      ts.isNamedImports(names) &&
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
      ts.isPropertyAccessExpression(node) &&
      /^globalThis\.(fetch|WebSocket)$/.test(node.getText(file.tree))
    )
      isGlobal = true;
    if ((ts.isBindingElement(node) || ts.isParameter(node)) && node.name.getText(file.tree) === 'fetch')
      isGiven = true;
    if (ts.isCallExpression(node) && node.expression.getText(file.tree) === 'fetch') isGlobal ||= !isGiven;
    if (ts.isNewExpression(node) && node.expression.getText(file.tree) === 'WebSocket') isGlobal = true;
  });
  return isGlobal;
}
