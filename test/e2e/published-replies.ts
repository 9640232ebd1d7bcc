import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { OperationTest, PublishedContract } from '../http/operations/operation-test.ts';
import { operationTests } from '../http/operations/operation-tests.ts';

/**
 * Reply shapes from which existing clients were generated: names, types, required fields and nullable fields. Those of
 * the first operations were generated from the published description and contain no text of it; those of later operations
 * are written by hand. `test/http/operations` has them.
 */

type PublishedOf<Test> = Test extends { readonly published: infer P extends PublishedContract } ? P : never;
type PublishedReply = PublishedOf<(typeof operationTests)[keyof typeof operationTests]>;
type ReplyShapes = { readonly [P in PublishedReply as P['path']]: P['reply'] };

export type PublishedOperationName = keyof ReplyShapes;
export type ReplyOf<O extends PublishedOperationName> = Static<ReplyShapes[O]>;

/** Reply shape of each operation, by its path. */
const replyShapes: ReadonlyMap<string, TSchema> = new Map(
  Object.values<OperationTest>(operationTests).flatMap(({ published }) =>
    published === undefined ? [] : [[published.path, published.reply] as const],
  ),
);
export const operations = [...replyShapes.keys()] as PublishedOperationName[];

const Detail = Type.Object({ detail: Type.String({ minLength: 10 }) });
const Issues = Type.Object({
  detail: Type.Array(
    Type.Object({ loc: Type.Array(Type.String()), msg: Type.String({ minLength: 3 }), type: Type.String() }),
    { minItems: 1 },
  ),
});

const validators = new Map<TSchema, ReturnType<typeof Compile>>();

/** Throws with the paths at which the body differs from the shape. */
function validate(name: string, shape: TSchema, body: unknown): void {
  const check = validators.get(shape) ?? Compile(shape);
  validators.set(shape, check);
  if (check.Check(body)) return;
  const errors = check.Errors(body).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  const bodyText = JSON.stringify(body)?.slice(0, 500);
  throw new Error(
    `The reply of ${name} has another shape than published: ${errors.join('; ')} in ${bodyText}`,
  );
}

/** Validates a reply against the published shape: the shape of a success, `{detail}` of an error. */
export function checkReply(operation: string, status: number, body: unknown): void {
  if (status < 400) {
    const shape = replyShapes.get(operation);
    if (shape === undefined)
      throw new Error(`Add \`published\` to the entry of ${operation} in test/http/operations`);
    validate(operation, shape, body);
    return;
  }
  validate(`${operation} (${status})`, status === 422 ? Issues : Detail, body);
  if (status !== 422) return;
  for (const { loc } of (body as Static<typeof Issues>).detail) {
    if (loc[0] !== 'body' && loc[0] !== 'query') throw new Error(`${operation}: loc is ${loc.join('.')}`);
  }
}
