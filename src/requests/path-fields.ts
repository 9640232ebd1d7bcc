import { isObject } from '../core/is-object.ts';
/** Merges the parameters of the path into the request; they override the body. */
export function mergeParams(request: unknown, params: Readonly<Record<string, string>>): unknown {
  if (Object.keys(params).length === 0) return request;
  if (!isObject(request)) return request;
  return { ...request, ...params };
}
