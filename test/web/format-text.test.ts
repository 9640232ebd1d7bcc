import t from '../support/tap.ts';
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
