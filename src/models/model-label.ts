import type { ModelReference } from '../core/model-reference.ts';

/** Characters that separate or end values of headers, and those that headers cannot contain. */
const unsafeCharacters = /[^\x21-\x2b\x2d-\x7e]|%/gu;

/**
 * Returns `name@version`, as the header `x-quarry-model` shows it. The version of a built-in model has a prefix, because
 * some of these models have names of the hosted service.
 */
export function formatModelLabel({ id, version }: ModelReference, isBuiltIn: boolean): string {
  const name = id.toWellFormed().replace(unsafeCharacters, encodeURIComponent);
  return `${name}@${isBuiltIn ? `built-in-${version}` : version}`;
}
