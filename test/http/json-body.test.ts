import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { parseJson } from '../../src/http/json-body.ts';

const parse = (text: string) => parseJson(Buffer.from(text));

t.test('brackets, quotes and commas inside strings do not count as structure', (t) => {
  const inside = '[{"\\'.repeat(2_000);
  for (const value of [inside, `${inside}\\`, `"${inside}`, 'a\\"b', '\\', '"', '\\\\"', 'ü😀\u2028']) {
    t.same(parse(JSON.stringify({ value, list: [value] })), { value, list: [value] });
  }
  t.end();
});

t.test('nesting is allowed to its limit and refused beyond it', (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  t.doesNotThrow(() => parse(nested(limits.jsonDepthMax)));
  t.throws(() => parse(nested(limits.jsonDepthMax + 1)), { code: 'bad_request' });
  t.throws(() => parse('{"a":'.repeat(1_000_000)), { code: 'bad_request' });
  t.end();
});

t.test('a small text that would become a huge heap is refused before it is parsed', (t) => {
  const values = (count: number) => `[${'0,'.repeat(count - 1)}0]`;
  t.doesNotThrow(() => parse(values(limits.jsonValuesMax - 1)));
  t.throws(() => parse(values(limits.jsonValuesMax + 1)), {
    code: 'bad_request',
    message: /4000000 JSON values/,
  });
  t.end();
});

t.test('what does not parse is a 422 that does not quote it', (t) => {
  for (const text of [
    '{',
    '"',
    '"\\',
    '{"a":1}x',
    'nul',
    "{'secret':1}",
    '[1,]',
    '\u0000',
    ' ',
    '{"a":"\n"}',
  ]) {
    try {
      parse(text);
      t.fail(`${JSON.stringify(text)} parsed`);
    } catch (error) {
      t.match(error, { code: 'invalid', options: { issues: [{ loc: ['body'], type: 'json_invalid' }] } });
      t.notMatch((error as Error).message, /secret/);
    }
  }
  t.same(parse(''), {}, 'but nothing at all is an empty request');
  t.end();
});
