import t, { type Test } from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

/** Texts of the dashboard with parameters, plural forms and elements. */

t.test('parameters are filled, and numbers select a plural form', async (t) => {
  const { fill, counted } = await importWebModule<{
    fill: (text: string, values: object) => string;
    counted: (forms: object, count: number, values?: object) => string;
  }>('texts/format-text.ts');
  t.equal(fill('{a} of {b} by {a}', { a: '$&{b}', b: 0 }), '$&{b} of 0 by $&{b}');
  t.equal(fill('Example: {"a": 1}', {}), 'Example: {"a": 1}');
  const forms = { one: '{count} file of {total}', other: '{count} files of {total}' };
  t.equal(counted(forms, 1, { total: 'x' }), '1 file of x');
  t.match(counted(forms, 0, { total: 'x' }), /^0 files of x$/);
  t.match(counted(forms, 1_234, { total: 'x' }), /^1\D?234 files of x$/);
  t.equal(counted({ other: '{count}' }, 1), '1');
});

t.test('elements of a text come from the code, and everything else is text', async (t) => {
  const { rich } = await importWebModule<{ rich: (text: string, values: object) => unknown }>(
    'texts/rich-text.ts',
  );
  const link = (children: unknown) => ({ link: children });
  t.same(rich('See <link>page {page}</link> or <b>x</b>.', { link, page: '<b>1</b>' }), [
    'See ',
    { link: ['page ', '<b>1</b>', ''] },
    ' or ',
    undefined,
    '.',
  ]);
  t.same(rich('no parts', {}), ['no parts']);
});

interface LanguageModule {
  readonly language: string;
  readonly locale: string;
}

/** Replaces a global object of the browser until the end of the test. */
function setGlobal(t: Test, name: 'window' | 'document', value: object): void {
  const scope = globalThis as Record<string, unknown>;
  scope[name] = value;
  t.teardown(() => {
    delete scope[name];
  });
}

t.test('the language is the selected one, else the first of the browser that is available', async (t) => {
  for (const [languages, stored, language, locale] of [
    [['en-GB', 'de'], null, 'en', 'en-GB'],
    [['de-AT', 'en'], null, 'de', 'de-AT'],
    [['pt-BR', 'fr-CA', 'en'], null, 'fr', 'fr-CA'],
    [['pt-BR'], null, 'en', 'en'],
    [[], null, 'en', 'en'],
    [['de-DE'], 'ja', 'ja', 'ja'],
    [['de-DE', 'en-GB'], 'en', 'en', 'en-GB'],
    [['es'], 'toString', 'es', 'es'],
  ] as const) {
    const getItem = (key: string) => (key === 'quarry.language' ? stored : null);
    setGlobal(t, 'window', { localStorage: { getItem } });
    const loaded = await importWebModule<LanguageModule>('texts/language.ts', languages);
    t.match(loaded, { language, locale }, `${languages.join()}, selected: ${stored}`);
  }
});

t.test('a translation replaces texts that are read before and after it is loaded', async (t) => {
  const { localize, loadTranslation } = await importWebModule<{
    localize: (area: string, english: object) => { readonly signOut?: string };
    loadTranslation: () => Promise<void>;
  }>('texts/localize.ts', ['de-AT']);
  const documentElement = { lang: 'en' };
  setGlobal(t, 'document', { documentElement });
  const texts = localize('shell', { signOut: 'Sign out' });
  t.same(texts, { signOut: 'Sign out' });
  await loadTranslation();
  t.equal(texts.signOut, 'Abmelden');
  t.equal(localize('overlays', { signOut: 'Sign out' }).signOut, 'Abmelden');
  t.equal(documentElement.lang, 'de');
});

t.test('plural forms, numbers and times are in the language of the page', async (t) => {
  const { counted } = await importWebModule<{ counted: (forms: object, count: number) => string }>(
    'texts/format-text.ts',
    ['ja'],
  );
  t.equal(counted({ one: '?', other: '{count} 個のファイル' }, 1), '1 個のファイル');
  const { formatCount } = await importWebModule<{ formatCount: (count: number) => string }>(
    'format/numbers.ts',
    ['de-DE'],
  );
  t.equal(formatCount(1_234), '1.234');
  const { formatMonth } = await importWebModule<{ formatMonth: (month: string) => string }>(
    'format/times.ts',
    ['fr'],
  );
  t.equal(formatMonth('2026-11'), 'novembre 2026');
});
