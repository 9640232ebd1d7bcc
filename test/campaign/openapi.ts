import { sendRequest } from '../e2e/people.ts';

/** JSON schema as used in OpenAPI documents. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly allOf?: readonly OpenApiSchema[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly minimum?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
}

/** Operation of the published API. */
export interface PublishedOperation {
  readonly id: string;
  readonly method: string;
  /** Path with the prefix of the server: /v1/documents/{collection}/{path} */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Content type of the body; null if the operation has none. */
  readonly type: string | null;
  readonly schema: OpenApiSchema | null;
  readonly example: unknown;
}

interface OpenApi {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiSchema>> };
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema?: OpenApiSchema; readonly example?: unknown }>
    >;
  };
}

/** Operations read from the published documents of the server, so that new operations are covered automatically. */
export class PublishedApi {
  readonly operations: readonly PublishedOperation[];
  readonly #schemas: ReadonlyMap<string, OpenApiSchema>;

  private constructor(documents: readonly OpenApi[]) {
    this.operations = documents.flatMap(operationsOf);
    this.#schemas = new Map(documents.flatMap(({ components }) => Object.entries(components?.schemas ?? {})));
  }

  static async read(url: string): Promise<PublishedApi> {
    const documents: OpenApi[] = [];
    for (const path of ['/openapi.json', '/api/openapi.json']) {
      const { status, body } = await sendRequest(`${url}${path}`, { method: 'GET' });
      if (status !== 200) throw new Error(`${path} returned ${status}`);
      documents.push(body);
    }
    return new PublishedApi(documents);
  }

  /** A valid body: the example plus a value for each missing required field; `named` overrides both. */
  bodyOf(operation: PublishedOperation, named: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const schema = this.#resolveRef(operation.schema ?? {});
    const properties = schema.properties ?? {};
    const body: Record<string, unknown> = { ...(operation.example as object | undefined) };
    for (const name of schema.required ?? []) body[name] ??= this.#sampleValueOf(properties[name] ?? {}, 0);
    for (const name of Object.keys(properties)) if (named[name] !== undefined) body[name] = named[name];
    return body;
  }

  #sampleValueOf(schemaOrRef: OpenApiSchema, depth: number): unknown {
    const schema = this.#resolveRef(schemaOrRef);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return schema.enum[0];
    const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0] ?? schema.allOf?.[0];
    if (choice !== undefined && depth < 8) return this.#sampleValueOf(choice, depth + 1);
    const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
    if (type === 'string') return 'word';
    if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
    if (type === 'boolean') return false;
    if (type === 'array')
      return schema.items === undefined ? [] : [this.#sampleValueOf(schema.items, depth + 1)];
    const fields = schema.required ?? [];
    const value = (name: string) => this.#sampleValueOf(schema.properties?.[name] ?? {}, depth + 1);
    return depth > 8 ? {} : Object.fromEntries(fields.map((name) => [name, value(name)]));
  }

  #resolveRef(schema: OpenApiSchema): OpenApiSchema {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : (this.#schemas.get(name) ?? {});
  }
}

function operationsOf(document: OpenApi): PublishedOperation[] {
  const prefix = (document.servers[0]?.url ?? '').replace(/\/$/, '');
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const [type = null, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path: `${prefix}${path}`,
        parameters: operation.parameters ?? [],
        type,
        schema: content?.schema ?? null,
        example: content?.example,
      };
    }),
  );
}
