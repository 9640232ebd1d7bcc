import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

/**
 * The only import of TypeBox. Its 340 modules would take a fifth of the startup time, so the launcher bundles
 * them into the compiled form of this file.
 */

export { default as Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';

/**
 * Returns a type guard for `schema`, which is compiled on first use, so that startup does not compile all
 * schemas.
 */
export function createCheck<S extends TSchema>(schema: S): (value: unknown) => value is Static<S> {
  let compiled: Validator | null = null;
  return (value): value is Static<S> => {
    compiled ??= Compile(schema);
    return compiled.Check(value);
  };
}
