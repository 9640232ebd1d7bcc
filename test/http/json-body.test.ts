import { limits } from '../../src/core/limits.ts';
import { parseJson } from '../../src/http/json-body.ts';
import { JsonScanner } from '../../src/http/json-scanner.ts';
import t from '../support/tap.ts';

const bounds = { jsonValuesMax: limits.jsonValuesMax, jsonNodesMax: limits.jsonNodesMax };

/** Parses as for a request body: scans chunks of `chunkBytes` as they arrive, then parses. */
function parse(text: string, chunkBytes = 65_536): unknown {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner(bounds);
  for (let i = 0; i < bytes.length; i += chunkBytes) scanner.push(bytes.subarray(i, i + chunkBytes));
  return parseJson(bytes);
}

t.test('brackets, quotes and commas inside strings do not count as structure', (t) => {
  const inside = '[{"\\'.repeat(2_000);
  for (const value of [inside, `${inside}\\`, `"${inside}`, 'a\\"b', '\\', '"', '\\\\"', 'ü😀\u2028']) {
    t.same(parse(JSON.stringify({ value, list: [value] })), { value, list: [value] });
  }
  t.end();
});

t.test('the count does not depend on where a chunk ends', (t) => {
  const text = JSON.stringify({ a: ['[{\\\\"', '\\', ',,,', 'ü"\\"'], 'b"': { c: [1, 2, 3, null], d: '' } });
  const costs = Array.from({ length: text.length }, (_, chunkBytes) => {
    const scanner = new JsonScanner(bounds);
    const bytes = Buffer.from(text);
    for (let i = 0; i < bytes.length; i += chunkBytes + 1)
      scanner.push(bytes.subarray(i, i + chunkBytes + 1));
    return scanner.cost;
  });
  const nodes = 4 + 8 + 1; // objects and lists; names and strings
  t.same([...new Set(costs)].length, 1);
  t.ok((costs[0] ?? 0) >= nodes * limits.jsonNodeBytes);
  for (const chunkBytes of [1, 2, 3, 7]) t.same(parse(text, chunkBytes), JSON.parse(text));
  t.end();
});

t.test('objects and strings are counted before numbers, and each body is rejected while it arrives', (t) => {
  const many = (value: string, count: number) => `[${Array(count).fill(value).join(',')}]`;
  t.doesNotThrow(() => parse(many('1', limits.jsonNodesMax * 2)));
  for (const value of ['{}', '[]', '""'])
    t.throws(() => parse(many(value, limits.jsonNodesMax)), {
      code: 'bad_request',
      message: /more than 262144 objects, lists and strings/,
    });
  const scanner = new JsonScanner({ jsonValuesMax: 10, jsonNodesMax: 10 });
  t.throws(() => scanner.push(Buffer.from('[1,2,3,4,5,6,7,8,9,10,')), {
    message: /more than 10 JSON values/,
  });
  t.end();
});

t.test('a short text is parsed like any other', (t) => {
  t.same(parse('{"a":1}'), { a: 1 });
  t.end();
});

t.test('nesting is allowed up to the limit and rejected beyond it', (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  t.doesNotThrow(() => parse(nested(limits.jsonDepthMax)));
  t.throws(() => parse(nested(limits.jsonDepthMax + 1)), { code: 'bad_request' });
  t.throws(() => parse('{"a":'.repeat(1_000_000)), { code: 'bad_request' });
  t.end();
});

t.test('a small text that would need a huge heap is rejected before parsing', (t) => {
  const values = (count: number) => `[${'0,'.repeat(count - 1)}0]`;
  t.doesNotThrow(() => parse(values(limits.jsonValuesMax - 1)));
  t.throws(() => parse(values(limits.jsonValuesMax + 1)), {
    code: 'bad_request',
    message: /4000000 JSON values/,
  });
  t.end();
});

t.test('the number of fields of an object is bounded', (t) => {
  const fields = (count: number, value: string) =>
    Array.from({ length: count }, (_, i) => `"a${i}":${value}`).join(',');
  const { jsonMembersMax } = limits;
  const most = `{${fields(jsonMembersMax, '"x"')}}`;
  t.equal(Object.keys(parse(most) as object).length, jsonMembersMax);
  const numbers = `{${fields(jsonMembersMax, '0')}}`;
  t.equal((parse(`[${numbers},${numbers}]`) as object[]).length, 2, 'each object counts for itself');
  const tooMany = `{${fields(jsonMembersMax + 1, '0')}}`;
  for (const text of [tooMany, `{"a":[[],${tooMany}]}`, `{"a":{},"b":${tooMany}}`]) {
    t.throws(() => parse(text), { code: 'bad_request', message: /more than 65536 fields/ });
  }
  t.equal(
    (parse(`[${'0,'.repeat(jsonMembersMax)}0]`) as number[]).length,
    jsonMembersMax + 1,
    'a list can be longer',
  );
  t.end();
});

t.test('invalid JSON is a 422 that does not quote the body', (t) => {
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
  t.same(parse(''), {}, 'an empty body is an empty request');
  t.end();
});
