import { type BodyLimits, bodyLimitsFor } from '../../admission/body-limits.ts';
import { invalidFieldError } from '../../core/app-error.ts';
import { isObject } from '../../core/is-object.ts';
import { limits } from '../../core/limits.ts';
import type { Exchange } from '../exchange.ts';
import type { AccountRoute } from '../routes/account-route.ts';
import type { JsonRoute } from '../routes/route.ts';
import type { RequestContext } from './request-context.ts';

/** Limits and fields of request bodies and query strings. */

/** Whether parsing the body would block the main thread; assumed for a body of unknown length. */
export function isLargeBody({ body: { declaredBytes } }: Exchange): boolean {
  return declaredBytes === null || declaredBytes >= limits.largeBodyBytesMin;
}

/**
 * Whether a worker parses large bodies of the operation: a body of 2 MB takes 40 ms to parse, even if most of it is
 * unknown fields. Operations of the administrator accept at most 512 KB.
 */
export function canHaveLargeBody({ access }: JsonRoute): boolean {
  return access === 'read' || access === 'write';
}

export function bodyLimitsOf(
  { principal, components }: RequestContext,
  route: JsonRoute | AccountRoute,
): BodyLimits {
  const { settings, modelBytesMax } = components.options;
  const isModel = route.bodyKind === 'model' && principal?.kind === 'organization';
  return bodyLimitsFor(route.bodyKind, {
    documentBytesMax: settings.jsonBytesMax,
    modelBytesMax: isModel ? modelBytesMax(principal) : limits.modelBytesMax,
  });
}

/** Returns the maximum bytes of metadata that the caller may store with a document. */
export function metadataBytesMaxOf({ principal, components }: RequestContext): number {
  return principal?.kind === 'organization'
    ? components.options.metadataBytesMax(principal)
    : limits.metadataBytesMax;
}

/** Errors: 422 for a query string that is not percent-encoded UTF-8. */
export function parseQuery(exchange: Exchange): URLSearchParams {
  try {
    decodeURIComponent(exchange.query);
  } catch {
    throw invalidFieldError(['query'], 'is not percent-encoded UTF-8'); // the only reason that decodeURIComponent throws
  }
  return new URLSearchParams(exchange.query);
}

/** Converts fields of the query string whose schema is an integer; other text is left for the validation. */
export function convertIntegers(
  { properties }: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> },
  request: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const entries = Object.entries(request).map(([name, value]) => {
    const isInteger = properties?.[name]?.type === 'integer';
    return [name, isInteger && /^-?\d{1,15}$/.test(String(value)) ? Number(value) : value] as const;
  });
  return Object.fromEntries(entries);
}

/** Merges the fields of the query string into the request; they override the body. */
export function mergeQueryFields(request: unknown, names: readonly string[], exchange: Exchange): unknown {
  if (names.length === 0 || exchange.query === '') return request;
  if (!isObject(request)) return request;
  const query = parseQuery(exchange);
  const queryFields = names.flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...request, ...Object.fromEntries(queryFields) };
}
