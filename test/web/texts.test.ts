import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsxAttribute, Node } from 'typescript';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { typescript as ts } from '../support/typescript.ts';
import { importWebModule } from './import-web-module.ts';

/** Texts of the dashboard: catalogs, their use, and texts in the code that no catalog has. */

const folder = join(projectRoot, 'web', 'src');

const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('texts/'))
  .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }));

type Catalog = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

const areas = readdirSync(join(folder, 'texts', 'en')).map((file) => file.replace('.ts', ''));

async function readCatalog(area: string): Promise<Catalog> {
  return (await importWebModule<{ texts: Catalog }>(`texts/en/${area}.ts`)).texts;
}

t.test('every text is used', async (t) => {
  t.ok(areas.length > 20, `${areas.length} areas`);
  for (const area of areas) {
    const used = new Set<string>();
    for (const { text } of sources) {
      const name = new RegExp(`import \\{ texts(?: as (\\w+))? \\} from '[./]*/texts/en/${area}\\.ts'`).exec(
        text,
      );
      if (name === null) continue;
      for (const [, key = ''] of text.matchAll(new RegExp(`\\b${name[1] ?? 'texts'}\\.(\\w+)`, 'g')))
        used.add(key);
    }
    t.same(
      Object.keys(await readCatalog(area)).filter((key) => !used.has(key)),
      [],
      area,
    );
  }
});

/** Code in other languages, and descriptions of operations by the server. */
const codeFiles = ['pages/code-samples.ts', 'server/api-console.ts'];

/** Names and values that are the same in all languages. */
const untranslated = new Set([
  ...[
    'Quarry',
    'Node.js',
    'Google',
    'GitHub',
    'Vercel',
    'AWS Marketplace',
    'American Express',
    'Diners Club',
  ],
  ...['Free', 'Starter', 'Teams', 'Enterprise'],
  ...['Edge', 'Opera', 'Firefox', 'Chrome', 'Safari', 'Python', 'Android', 'Windows', 'Linux'],
  ...['Ctrl K', 'Enter', 'Shift Enter', 'Page Up', 'Page Down', 'Acme', 'Bearer …'],
  ...['Europe/Berlin', 'Files', 'The request'],
]);

const textAttributes =
  /^(label|hint|title|summary|aria-label|placeholder|alt|legend|caption|subtitle|name|action|description)$/;

/** Attributes and properties with values for programs. */
const codeNames = /^(class|key|id)$/;

/** Whether a literal looks like a text for people: a word with a capital letter, or a sentence. */
function looksLikeText(text: string): boolean {
  return /^\s*[A-Z][a-z]+([\s.,:;!?…/]|$)/.test(text) && !untranslated.has(text.trim());
}

/** Whether a string in this place can appear on the page. */
function isDisplayable({ parent }: Node): boolean {
  if (ts.isBinaryExpression(parent)) return parent.operatorToken.kind === ts.SyntaxKind.PlusToken;
  return !(
    ts.isImportDeclaration(parent) ||
    ts.isLiteralTypeNode(parent) ||
    ts.isCaseClause(parent) ||
    ts.isTemplateLiteralTypeSpan(parent) ||
    (ts.isPropertyAssignment(parent) && ts.isStringLiteral(parent.name) && parent.initializer === undefined)
  );
}

function literalTexts(path: string, text: string): string[] {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return;
    if ((ts.isJsxAttribute(node) || ts.isPropertyAssignment(node)) && codeNames.test(node.name.getText()))
      return;
    if (ts.isJsxElement(node) && ['code', 'kbd'].includes(node.openingElement.tagName.getText())) return;
    const add = () =>
      found.push(`${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${node.getText()}`);
    if (ts.isJsxText(node)) {
      if (/\p{L}{2}/u.test(node.text.replace(/&\w+;/g, ''))) add();
    } else if (ts.isJsxAttribute(node) && isTextAttribute(node)) add();
    else if (ts.isStringLiteralLike(node)) {
      if (isDisplayable(node) && looksLikeText(node.text)) add();
    } else if (ts.isTemplateExpression(node)) {
      const parts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('{}');
      if (looksLikeText(parts) || /\p{Ll}{2} \{\}|\{\} \p{Ll}{2}/u.test(parts)) add();
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** Whether the attribute is displayed and has a text with several words. */
function isTextAttribute({ name, initializer }: JsxAttribute): boolean {
  if (initializer === undefined || !ts.isStringLiteral(initializer)) return false;
  return textAttributes.test(name.getText()) && /\p{L} \p{L}/u.test(initializer.text);
}

t.test('texts in the code are found', async (t) => {
  const code = `
    import { a } from 'Some module';
    const kind: 'Kind' = x === 'Other' ? 'Shown' : 'code';
    const message = \`\${count} files were sent\`;
    const element = <p title="two words" class="two words">Text <code>Code</code>{'Copied'}</p>;
  `;
  t.same(
    literalTexts('a.tsx', code).map((each) => each.replace(/^\S+ /, '')),
    ["'Shown'", `\`\${count} files were sent\``, 'title="two words"', 'Text ', "'Copied'"],
  );
});

t.test('all texts of the dashboard are in the catalogs', async (t) => {
  t.ok(sources.length > 100, `${sources.length} sources`);
  t.same(
    sources
      .filter(({ path }) => !codeFiles.includes(path))
      .flatMap(({ path, text }) => literalTexts(path, text)),
    [],
  );
});
