import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { AppError, type ValidationIssue } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { issuesOf } from './issues.ts';

/** Returns the value, typed, when it has the shape; throws AppError `invalid` (422) with the faults otherwise. */
export type Validate<T> = (value: unknown) => T;

/** Compiles `schema` once. `loc` is where faults are said to lie: "body", or the path of a nested value. */
export function compileValidator<S extends TSchema>(
  schema: S,
  loc: readonly string[] = ['body'],
): Validate<Static<S>> {
  const compiled = Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return value;
    throw invalid(issuesOf(schema, value, loc));
  };
}

function invalid(issues: readonly ValidationIssue[]): AppError {
  const shown = issues.slice(0, limits.validationIssuesMax);
  const first = shown[0] ?? {
    loc: ['body'],
    msg: 'The request does not have the shape of the operation.',
    type: 'value_error',
  };
  return new AppError('invalid', `${first.loc.join('.')}: ${first.msg}`, {
    issues: shown.length > 0 ? shown : [first],
  });
}
