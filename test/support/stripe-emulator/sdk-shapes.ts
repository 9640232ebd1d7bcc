import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type ts from 'typescript';
import { typescript } from '../typescript.ts';

/**
 * Types of the Stripe SDK, read from its declaration files. The SDK is generated from Stripe's OpenAPI description, so
 * its types are authoritative for parameters and replies. Files are read on demand; only the syntax is parsed and names
 * are resolved here, which takes milliseconds where a type checker takes seconds.
 */

export interface Field {
  readonly shape: () => Shape;
  readonly optional: boolean;
}

export type Shape =
  /** `words` lists the allowed values; null allows any text. */
  | { readonly kind: 'string'; readonly words: readonly string[] | null }
  | { readonly kind: 'number' | 'boolean' | 'null' | 'decimal' | 'anything' }
  | { readonly kind: 'array' | 'map'; readonly of: Shape }
  | { readonly kind: 'fields'; readonly fields: ReadonlyMap<string, Field> }
  | { readonly kind: 'union'; readonly of: readonly Shape[] };

/** Statements in which a name is resolved, and the enclosing scope. */
interface DeclarationScope {
  readonly file: string;
  readonly statements: readonly ts.Statement[];
  readonly parent: DeclarationScope | null;
}

interface DeclaredType {
  readonly nodes: readonly (ts.InterfaceDeclaration | ts.TypeAliasDeclaration)[];
  readonly scope: DeclarationScope;
}

/** Folder of the compiled SDK; the declaration files are beside the code. */
export const sdkFolder = dirname(fileURLToPath(import.meta.resolve('stripe')));

const files = new Map<string, DeclarationScope>();
const shapes = new Map<ts.Node, Shape>();

/** Declarations of one SDK file; the path has no suffix: `resources/Customers`. */
export function declarations(path: string): DeclarationScope {
  const known = files.get(path);
  if (known !== undefined) return known;
  const name = join(sdkFolder, `${path}.d.ts`);
  const text = existsSync(name) ? readFileSync(name, 'utf8') : '';
  const scope: DeclarationScope = {
    file: path,
    statements: parseSyntax(name, text).statements,
    parent: null,
  };
  files.set(path, scope);
  return scope;
}

/** Syntax tree of an SDK file; its comments, which are most of the text, are not parsed. */
export function parseSyntax(name: string, text: string): ts.SourceFile {
  const { ScriptTarget, JSDocParsingMode } = typescript;
  const options = { languageVersion: ScriptTarget.Latest, jsDocParsingMode: JSDocParsingMode.ParseNone };
  return typescript.createSourceFile(name, text, options, false);
}

/** Shape of a declared type: `findShape('resources/Customers', 'Customer')`. */
export function findShape(path: string, name: string): Shape {
  const found = findDeclaration(declarations(path), name);
  if (found === null) throw new Error(`the SDK has no type ${name} in ${path}`);
  return shapeOfDeclared(found);
}

/** Shape of a type node, with names resolved in `scope`. */
export function shapeOf(node: ts.TypeNode, scope: DeclarationScope): Shape {
  if (typescript.isParenthesizedTypeNode(node)) return shapeOf(node.type, scope);
  if (typescript.isArrayTypeNode(node)) return { kind: 'array', of: shapeOf(node.elementType, scope) };
  if (typescript.isUnionTypeNode(node)) return unionOf(node.types.map((type) => shapeOf(type, scope)));
  if (typescript.isTypeLiteralNode(node)) return shapeOfMembers(node, [{ members: node.members, scope }]);
  if (typescript.isTypeReferenceNode(node)) return shapeOfReference(node, scope);
  if (typescript.isLiteralTypeNode(node)) return shapeOfLiteral(node);
  switch (node.kind) {
    case typescript.SyntaxKind.StringKeyword:
      return { kind: 'string', words: null };
    case typescript.SyntaxKind.NumberKeyword:
      return { kind: 'number' };
    case typescript.SyntaxKind.BooleanKeyword:
      return { kind: 'boolean' };
    default:
      return { kind: 'anything' };
  }
}

function shapeOfLiteral(node: ts.LiteralTypeNode): Shape {
  const { literal } = node;
  if (typescript.isStringLiteral(literal)) return { kind: 'string', words: [literal.text] };
  if (literal.kind === typescript.SyntaxKind.NullKeyword) return { kind: 'null' };
  if (typescript.isNumericLiteral(literal)) return { kind: 'number' };
  return { kind: 'boolean' };
}

function shapeOfReference(node: ts.TypeReferenceNode, scope: DeclarationScope): Shape {
  const name = nameOf(node.typeName);
  const [first, second] = node.typeArguments ?? [];
  switch (name) {
    case 'Array':
    case 'ReadonlyArray':
      return { kind: 'array', of: shapeOf(first!, scope) };
    case 'Emptyable':
      return unionOf([{ kind: 'string', words: [''] }, { kind: 'null' }, shapeOf(first!, scope)]);
    case 'Record':
      return { kind: 'map', of: shapeOf(second!, scope) };
    case 'ApiList':
    case 'Stripe.ApiList':
      return listOf(shapeOf(first!, scope));
    case 'Decimal':
    case 'Stripe.Decimal':
      return { kind: 'decimal' };
    // These types admit enum values added in later versions. Stripe itself rejects unknown values.
    case 'OtherString':
    case 'Stripe.OtherString':
      return { kind: 'union', of: [] };
    default: {
      const found = findDeclaration(scope, name);
      return found === null ? { kind: 'anything' } : shapeOfDeclared(found);
    }
  }
}

/** Shape of one page of a list, as returned by every list operation. */
export function listOf(of: Shape): Shape {
  const always = (shape: Shape): Field => ({ shape: () => shape, optional: false });
  return {
    kind: 'fields',
    fields: new Map([
      ['object', always({ kind: 'string', words: ['list'] })],
      ['data', always({ kind: 'array', of })],
      ['has_more', always({ kind: 'boolean' })],
      ['url', always({ kind: 'string', words: null })],
      ['total_count', { shape: () => ({ kind: 'number' }), optional: true }],
    ]),
  };
}

function shapeOfDeclared({ nodes, scope }: DeclaredType): Shape {
  const [first] = nodes;
  const known = shapes.get(first!);
  if (known !== undefined) return known;
  if (typescript.isTypeAliasDeclaration(first!)) {
    const shape = shapeOf(first.type, scope);
    shapes.set(first, shape);
    return shape;
  }
  const parts = nodes
    .filter(typescript.isInterfaceDeclaration)
    .flatMap((node) => inheritedMembers(node, scope));
  return shapeOfMembers(first!, parts);
}

interface MemberGroup {
  readonly members: readonly ts.TypeElement[];
  readonly scope: DeclarationScope;
}

/** Members of the interface, after those of the interfaces that it extends. */
function inheritedMembers(node: ts.InterfaceDeclaration, scope: DeclarationScope): MemberGroup[] {
  const extended = (node.heritageClauses ?? []).flatMap((clause) => clause.types);
  const above = extended.flatMap(({ expression }) => {
    const found = findDeclaration(scope, expressionName(expression));
    return (found?.nodes ?? [])
      .filter(typescript.isInterfaceDeclaration)
      .flatMap((parent) => inheritedMembers(parent, found!.scope));
  });
  return [...above, { members: node.members, scope }];
}

function shapeOfMembers(key: ts.Node, parts: readonly MemberGroup[]): Shape {
  const known = shapes.get(key);
  if (known !== undefined) return known;
  const fields = new Map<string, Field>();
  let values: Shape | null = null;
  for (const { members, scope } of parts) {
    for (const member of members) {
      if (typescript.isIndexSignatureDeclaration(member)) values = shapeOf(member.type, scope);
      if (!typescript.isPropertySignature(member) || member.type === undefined) continue;
      const { type } = member;
      const name =
        typescript.isStringLiteral(member.name) || typescript.isIdentifier(member.name)
          ? member.name.text
          : '';
      let shape: Shape | null = null;
      const lazily = () => {
        shape ??= shapeOf(type, scope);
        return shape;
      };
      fields.set(name, { shape: lazily, optional: member.questionToken !== undefined });
    }
  }
  const lazyShape = membersShape(fields, values);
  shapes.set(key, lazyShape);
  return lazyShape;
}

/** An interface without members accepts anything. */
function membersShape(fields: ReadonlyMap<string, Field>, values: Shape | null): Shape {
  if (fields.size > 0) return { kind: 'fields', fields };
  return values === null ? { kind: 'anything' } : { kind: 'map', of: values };
}

/** Flattens nested unions and merges the allowed values of all string members into one list. */
function unionOf(parts: readonly Shape[]): Shape {
  const flat = parts.flatMap((part) => (part.kind === 'union' ? part.of : [part]));
  const texts = flat.filter((part) => part.kind === 'string');
  const others = flat.filter((part) => part.kind !== 'string');
  const open = texts.some((part) => part.words === null);
  const words = open ? null : texts.flatMap((part) => part.words ?? []);
  const all: Shape[] = texts.length === 0 ? [...others] : [...others, { kind: 'string', words }];
  return all.length === 1 ? all[0]! : { kind: 'union', of: all };
}

function nameOf(name: ts.EntityName): string {
  return typescript.isIdentifier(name) ? name.text : `${nameOf(name.left)}.${name.right.text}`;
}

function expressionName(expression: ts.Expression): string {
  if (typescript.isPropertyAccessExpression(expression))
    return `${expressionName(expression.expression)}.${expression.name.text}`;
  return typescript.isIdentifier(expression) ? expression.text : '';
}

/** Resolves a name such as `SubscriptionCreateParams.Item` from the given scope. */
function findDeclaration(scope: DeclarationScope, name: string): DeclaredType | null {
  const parts = name.split('.');
  let around: DeclarationScope | null = scope;
  for (const part of parts.slice(0, -1)) {
    around = around === null ? null : findNamespaceIn(around, part, around === scope);
  }
  return around === null ? null : findDeclarationIn(around, parts.at(-1)!, parts.length === 1);
}

function findDeclarationIn(scope: DeclarationScope, name: string, upwards: boolean): DeclaredType | null {
  const nodes = scope.statements.filter(
    (node): node is ts.InterfaceDeclaration | ts.TypeAliasDeclaration =>
      (typescript.isInterfaceDeclaration(node) || typescript.isTypeAliasDeclaration(node)) &&
      node.name.text === name,
  );
  if (nodes.length > 0) return { nodes, scope };
  const elsewhere = findImport(scope, name);
  if (elsewhere !== null) return findDeclarationIn(declarations(elsewhere.file), elsewhere.name, false);
  return upwards && scope.parent !== null ? findDeclarationIn(scope.parent, name, true) : null;
}

function findNamespaceIn(scope: DeclarationScope, name: string, upwards: boolean): DeclarationScope | null {
  const statements = scope.statements.flatMap((node) =>
    typescript.isModuleDeclaration(node) &&
    node.name.text === name &&
    node.body !== undefined &&
    typescript.isModuleBlock(node.body)
      ? [...node.body.statements]
      : [],
  );
  if (statements.length > 0) return { file: scope.file, statements, parent: scope };
  const elsewhere = findImport(scope, name);
  if (elsewhere !== null) {
    const there = declarations(elsewhere.file);
    return elsewhere.name === '*' ? there : findNamespaceIn(there, elsewhere.name, false);
  }
  return upwards && scope.parent !== null ? findNamespaceIn(scope.parent, name, true) : null;
}

/** Source file and exported name of a name that the scope imports or re-exports; `*` for a whole namespace. */
function findImport(scope: DeclarationScope, name: string): { file: string; name: string } | null {
  for (const node of scope.statements) {
    if (!typescript.isImportDeclaration(node) && !typescript.isExportDeclaration(node)) continue;
    if (node.moduleSpecifier === undefined || !typescript.isStringLiteral(node.moduleSpecifier)) continue;
    const file = join(dirname(scope.file), node.moduleSpecifier.text.replace(/\.js$/, ''));
    const names = typescript.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
    if (names === undefined) continue;
    if (typescript.isNamespaceImport(names) || typescript.isNamespaceExport(names)) {
      if (names.name.text === name) return { file, name: '*' };
      continue;
    }
    const elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] = names.elements;
    const element = elements.find((one) => one.name.text === name);
    if (element !== undefined) return { file, name: (element.propertyName ?? element.name).text };
  }
  return null;
}
