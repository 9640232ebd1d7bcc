import { AppError, type ValidationIssue } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { explainIssues } from './issues.ts';
import { createCheck, type Static, type TSchema } from './typebox.ts';

/** Returns the value, typed, when it matches the schema. Errors: AppError `invalid` (422) with the issues. */
export type Validator<T> = (value: unknown) => T;

/** Compiles a validator. `loc` is the location prefix of issues: "body", or the path of a nested value. */
export function compileValidator<S extends TSchema>(
  schema: S,
  loc: readonly string[] = ['body'],
): Validator<Static<S>> {
  const isValid = createCheck(schema);
  return (value) => {
    if (isValid(value)) return value;
    throw validationError(explainIssues(schema, value, loc));
  };
}

function validationError(issues: readonly ValidationIssue[]): AppError {
  const reportedIssues = issues.slice(0, limits.validationIssuesMax);
  const first = reportedIssues[0] ?? {
    loc: ['body'],
    msg: 'The request does not match the schema of the operation.',
    type: 'value_error',
  };
  return new AppError('invalid', `${first.loc.join('.')}: ${first.msg}`, {
    issues: reportedIssues.length > 0 ? reportedIssues : [first],
  });
}
