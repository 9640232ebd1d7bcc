import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

type Entry = string | Readonly<Record<string, string>>;
type Catalog = Readonly<Record<string, Entry>>;

const areas = readdirSync(join(folder, 'texts', 'en')).map((file) => file.replace('.ts', ''));

async function readCatalog(area: string): Promise<Catalog> {
  return (await importWebModule<{ texts: Catalog }>(`texts/en/${area}.ts`)).texts;
}

const translations = readdirSync(join(folder, 'texts'))
  .filter((file) => /^[a-z]{2}\.ts$/.test(file))
  .map((file) => file.replace('.ts', ''));

/** Parameters and elements of a text, each as often as it occurs. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/\{\w+\}|<\/?\w+>/g)].map(([name]) => name).sort();
}

/** Texts of an entry: one, or one per plural form. */
function formsOf(entry: Entry): string[] {
  return typeof entry === 'string' ? [entry] : Object.values(entry);
}

/** Differences to the English entry that would show a wrong or incomplete text. */
function entryErrors(language: string, english: Entry, translated: Entry | undefined): string[] {
  if (translated === undefined) return ['is missing'];
  if (typeof english !== typeof translated) return ['has another type'];
  const names = namesIn(formsOf(english).at(-1) ?? '');
  const errors = formsOf(translated)
    .filter((text) => text.trim() === '' || namesIn(text).join() !== names.join())
    .map((text) => `has other parameters: ${text}`);
  if (typeof translated === 'string') return errors;
  // Only French and Spanish have a form "many", for whole millions; it is that of "other" in our texts.
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  const required = forms.filter((form) => form !== 'many');
  const given = Object.keys(translated);
  if (
    required.every((form) => given.includes(form)) &&
    given.every((form) => required.includes(form as never))
  )
    return errors;
  return [...errors, `has the forms ${given.join()} instead of ${required.join()}`];
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

t.test('every language has every text with the parameters of the English one', async (t) => {
  t.same(translations, ['de', 'es', 'fr', 'ja']);
  const english = Object.fromEntries(
    await Promise.all(areas.map(async (area) => [area, await readCatalog(area)] as const)),
  );
  for (const language of translations) {
    const { catalogs } = await importWebModule<{ catalogs: Readonly<Record<string, Catalog>> }>(
      `texts/${language}.ts`,
    );
    const errors: string[] = [];
    for (const [area, entries] of Object.entries(english)) {
      const translated = catalogs[area.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] ?? {};
      for (const [key, entry] of Object.entries(entries))
        for (const error of entryErrors(language, entry, translated[key]))
          errors.push(`${area}.${key} ${error}`);
      for (const key of Object.keys(translated))
        if (entries[key] === undefined) errors.push(`${area}.${key} is not in English`);
    }
    t.same(errors, [], language);
  }
});

t.test('wrong translations are found', async (t) => {
  const plural = { one: '{count} file', other: '{count} files' };
  t.same(entryErrors('de', plural, { one: '{count} Datei', other: '{count} Dateien' }), []);
  t.same(entryErrors('ja', plural, { other: '{count} 個' }), []);
  t.match(entryErrors('ja', plural, plural), ['has the forms one,other instead of other']);
  t.match(entryErrors('de', plural, { other: '{count} Dateien' }), [/^has the forms other /]);
  t.match(entryErrors('de', plural, '{count} Dateien'), ['has another type']);
  t.same(entryErrors('de', 'See <link>{page}</link>.', '{page}: <link>hier</link>'), []);
  t.match(entryErrors('de', 'See <link>{page}</link>.', '<link>{seite}</link>'), [/^has other parameters/]);
  t.match(entryErrors('de', 'See <link>{page}</link>.', '{page}'), [/^has other parameters/]);
  t.same(entryErrors('de', 'Open', undefined), ['is missing']);
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

/** Modules that the first load evaluates before the translation is loaded. */
function firstLoad(): string[] {
  const found = new Set<string>();
  const add = (path: string) => {
    const text = found.has(path) ? undefined : sources.find((source) => source.path === path)?.text;
    if (text === undefined) return;
    found.add(path);
    for (const [, file = ''] of text.matchAll(/^(?:import|\} from) (?!type\b)[^;]*'(\.[^']*)';$/gm))
      add(join(dirname(path), file));
  };
  add('main.tsx');
  return [...found];
}

/** Places where a module reads a text while it is evaluated. */
function earlyTexts(path: string, text: string): string[] {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (ts.isFunctionLike(node)) return;
    if (ts.isPropertyAccessExpression(node) && /^(texts|\w+Texts)$/.test(node.expression.getText()))
      found.push(`${path}: ${node.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

t.test(
  'modules of the first load read their texts in functions, after the translation is loaded',
  async (t) => {
    t.same(earlyTexts('a.ts', 'const a = [texts.open]; const b = () => texts.close;'), ['a.ts: texts.open']);
    const paths = firstLoad();
    t.ok(paths.includes('shell/shell.tsx') && paths.includes('pages/sign-in.tsx'), `${paths.length} modules`);
    t.ok(paths.length > 40 && !paths.includes('pages/search.tsx'));
    t.same(
      sources.filter(({ path }) => paths.includes(path)).flatMap(({ path, text }) => earlyTexts(path, text)),
      [],
    );
  },
);

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
