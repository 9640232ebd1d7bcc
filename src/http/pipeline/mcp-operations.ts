import { authorize as findDenial } from '../../auth/authorize.ts';
import { AppError } from '../../core/app-error.ts';
import { assert } from '../../core/assert.ts';
import { type McpApi, pageImageWidth } from '../../mcp/mcp-api.ts';
import { RenderedJson } from '../../services/rendered-json.ts';
import type { JsonRoute } from '../routes/route.ts';
import { metadataBytesMaxOf } from './body-fields.ts';
import { createServiceCall, type RequestContext } from './request-context.ts';

/**
 * Calls operations for the tools of MCP, with the steps of the request pipeline that concern the operation:
 * authorization, admission, validation and the service.
 */
export class RouteOperations implements McpApi {
  readonly mayWrite: boolean;
  readonly #context: RequestContext;

  constructor(context: RequestContext) {
    const { principal, components } = context;
    const isWritingKey = principal?.kind === 'organization' && principal.permission === 'all';
    this.mayWrite = components.mcp.mayWrite && isWritingKey;
    this.#context = context;
  }

  mayAnswer(): Promise<boolean> {
    return Promise.resolve(this.#context.components.options.settings.mcpMayAnswer);
  }

  async call(operation: string, request: object): Promise<unknown> {
    const context = this.#context;
    const { schemas, options } = context.components;
    const route = this.#findRoute(operation);
    const denial = findDenial(context.principal, route);
    if (denial !== null) throw denial;
    options.hooks?.admit?.(context.principal, route.operation);
    const valid = schemas.clean(route, schemas.validateRequest(route, request));
    route.check(valid, { metadataBytesMax: () => metadataBytesMaxOf(context) });
    const { body } = await route.serve(options.services, createServiceCall(context), valid);
    return body instanceof RenderedJson ? body.parse() : body;
  }

  async fetchPageImage(imageUrl: string): Promise<Uint8Array> {
    const token = new URL(imageUrl).searchParams.get('token');
    assert(token, 'the URL of a page image has a token');
    const { files } = this.#context.components.options.services;
    return (await files.getPageImage(createServiceCall(this.#context), token, pageImageWidth)).bytes;
  }

  #findRoute(operation: string): JsonRoute {
    const { route } = this.#context.components.routers.public.find('POST', `/v1/${operation}`);
    assert(route.kind === 'json', 'tools call operations with JSON');
    // The access of this route is read, so writing needs the setting, even for a key that may write.
    if (route.access === 'write' && !this.mayWrite)
      throw new AppError('forbidden', 'Writing over MCP is disabled, or this API key is read-only.');
    return route;
  }
}
