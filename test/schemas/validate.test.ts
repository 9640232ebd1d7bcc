import { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { AddDocumentRequest, AddDocumentsRequest, BatchDocument } from '../../src/schemas/documents.ts';
import { Type } from '../../src/schemas/typebox.ts';
import { compileValidator } from '../../src/schemas/validate.ts';
import { Nullable } from '../../src/schemas/wire.ts';
import t from '../support/tap.ts';

function issuesOf(
  validate: (value: unknown) => unknown,
  value: unknown,
): readonly { loc: readonly string[]; msg: string; type: string }[] {
  try {
    validate(value);
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
    return error.options.issues ?? [];
  }
}

const validateAdd = compileValidator(AddDocumentRequest);

t.test('a valid value is returned unchanged, including unknown fields', (t) => {
  const request = { collection_name: 'c', path: 'p', content: { type: 'text', text: '' }, extra: 1 };
  t.equal(validateAdd(request), request);
  t.end();
});

t.test('every issue of a request is reported with its location', (t) => {
  const issues = issuesOf(validateAdd, {
    collection_name: 1,
    content: { type: 'text-pages', pages: [1] },
    metadata: { a: [2] },
  });
  t.same(issues, [
    { loc: ['body', 'path'], msg: 'is missing', type: 'missing' },
    { loc: ['body', 'collection_name'], msg: 'must be a string, but is an integer', type: 'string_type' },
    {
      loc: ['body', 'content', 'pages', '0'],
      msg: 'must be a string, but is an integer',
      type: 'string_type',
    },
    { loc: ['body', 'metadata', 'a', '0'], msg: 'must be a string, but is an integer', type: 'string_type' },
  ]);
  t.end();
});

t.test('a request with a million issues gets a short explanation', (t) => {
  const pages = Array.from({ length: 1_000_000 }, () => 0);
  const issues = issuesOf(validateAdd, {
    collection_name: 'c',
    path: 'p',
    content: { type: 'text-pages', pages },
  });
  t.equal(issues.length, limits.validationIssuesMax);
  t.end();
});

t.test('inherited properties do not count as fields of a request', (t) => {
  const validate = compileValidator(
    Type.Object({ constructor: Type.Optional(Type.String()), x: Type.String() }),
  );
  t.same(issuesOf(validate, { x: 1 }), [
    { loc: ['body', 'x'], msg: 'must be a string, but is an integer', type: 'string_type' },
  ]);
  const required = issuesOf(
    validateAdd,
    JSON.parse('{"__proto__":{"collection_name":"c","path":"p","content":{"type":"text","text":""}}}'),
  );
  t.equal(required.length, 3, 'a __proto__ field adds no fields');
  t.end();
});

t.test('everything that the compiled schema rejects has an explanation', (t) => {
  const schema = Type.Object({
    a: Nullable(Type.Integer({ minimum: 0, maximum: 9 })),
    b: Type.String({ format: 'uuid' }),
    c: Type.Union([Type.String(), Type.Array(Type.String())]),
  });
  const validate = compileValidator(schema);
  const good = { a: 1, b: '00000000-0000-4000-8000-000000000001', c: [] };
  t.equal(issuesOf(validate, good).length, 0);
  for (const bad of [
    { a: -1 },
    { a: 1.5 },
    { a: 'x' },
    { b: 'x' },
    { b: null },
    { c: 1 },
    { c: [null] },
    { c: {} },
  ]) {
    const issues = issuesOf(validate, { ...good, ...bad });
    t.equal(issues.length, 1, JSON.stringify(bad));
    t.same(issues[0]?.loc.slice(0, 2), ['body', Object.keys(bad)[0]]);
    t.not(issues[0]?.type, undefined);
  }
  for (const bad of [null, 1, 'x', [], true]) t.equal(issuesOf(validate, bad)[0]?.type, 'object_type');
  t.end();
});

t.test('a batch with invalid items passes; items are validated one by one', (t) => {
  const validateBatch = compileValidator(AddDocumentsRequest);
  const validateItem = compileValidator(BatchDocument, ['body', 'documents', '1']);
  const documents = [{ path: 'p', content: { type: 'text', text: '' } }, { path: 1 }, null];
  t.same(issuesOf(validateBatch, { collection_name: 'c', documents }), []);
  t.equal(issuesOf(validateItem, documents[0]).length, 0);
  t.same(
    issuesOf(validateItem, documents[1]).map((issue) => issue.loc),
    [
      ['body', 'documents', '1', 'content'],
      ['body', 'documents', '1', 'path'],
    ],
  );
  t.end();
});

t.test('rejected enum values, formats and lengths are quoted, shortened', (t) => {
  const validate = compileValidator(
    Type.Object({
      mode: Type.Optional(Type.Enum(['low', 'high'])),
      only: Type.Optional(Type.Literal('float')),
      id: Type.Optional(Type.String({ format: 'uuid' })),
      at: Type.Optional(Type.String({ format: 'date-time' })),
      password: Type.Optional(Type.String({ maxLength: 1_024 })),
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 5 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    }),
  );
  const cases: readonly (readonly [object, string])[] = [
    [{ mode: 'medium' }, 'must be one of "low", "high", but is "medium"'],
    [{ mode: 7 }, 'must be one of "low", "high", but is 7'],
    [{ mode: ['low'] }, 'must be one of "low", "high", but is a list'],
    [
      { mode: 'x'.repeat(1_000) },
      `must be one of "low", "high", but is "${'x'.repeat(64)}"... (1,000 characters)`,
    ],
    [{ only: 'int8' }, 'must be "float", but is "int8"'],
    [{ id: 'x' }, 'must be a UUID, but is "x"'],
    [{ at: 'now' }, 'must be a date and time such as "2026-11-30T12:00:00Z", but is "now"'],
    [{ password: 'p'.repeat(2_000) }, 'must have at most 1,024 characters, but has 2,000'],
    [{ code: '' }, 'must have 1 to 5 characters, but has 0'],
    [{ limit: 0 }, 'must be a number of 1 to 1,000, but is 0'],
  ];
  for (const [value, msg] of cases) t.match(issuesOf(validate, value), [{ msg }], msg);
  t.end();
});
