import { AppError, type ValidationIssue } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { issuesOf } from './issues.ts';
import { checkOf, type Static, type TSchema } from './typebox.ts';

/** Returns the value, typed, when it has the shape; throws AppError `invalid` (422) with the faults otherwise. */
export type Validate<T> = (value: unknown) => T;

/** A check by `schema`. `loc` is where faults are said to lie: "body", or the path of a nested value. */
export function compileValidator<S extends TSchema>(
  schema: S,
  loc: readonly string[] = ['body'],
): Validate<Static<S>> {
  const fits = checkOf(schema);
  return (value) => {
    if (fits(value)) return value;
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
