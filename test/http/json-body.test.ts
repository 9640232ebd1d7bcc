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

t.test('an object may have many fields, but not so many that reading them holds up everybody else', (t) => {
  const fields = (count: number, value: string) =>
    Array.from({ length: count }, (_, i) => `"a${i}":${value}`).join(',');
  const { jsonMembersMax } = limits;
  const most = `{${fields(jsonMembersMax, '["x","y"]')}}`;
  t.equal(Object.keys(parse(most) as object).length, jsonMembersMax);
  t.equal((parse(`[${most},${most}]`) as object[]).length, 2, 'each object counts for itself');
  const tooMany = `{${fields(jsonMembersMax + 1, '0')}}`;
  for (const text of [tooMany, `{"a":[[],${tooMany}]}`, `{"a":{},"b":${tooMany}}`]) {
    t.throws(() => parse(text), { code: 'bad_request', message: /more than 65536 fields/ });
  }
  t.equal(
    (parse(`[${'0,'.repeat(jsonMembersMax)}0]`) as number[]).length,
    jsonMembersMax + 1,
    'a list may be longer',
  );
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
