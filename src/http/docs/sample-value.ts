/** The part of JSON Schema that the schemas of this project use. */
export interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Returns a value that shows the form of a reply, from the examples and types of its schema. */
export function sampleValue(schema: JsonSchema): unknown {
  if (schema.examples !== undefined && schema.examples.length > 0) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sampleValue(schema.anyOf[0] ?? {});
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, field]) => [name, sampleValue(field)]),
      );
    case 'array':
      return schema.items === undefined ? [] : [sampleValue(schema.items)];
    case 'string':
      return sampleString(schema);
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return {};
  }
}

function sampleString({ format, minLength = 0 }: JsonSchema): string {
  if (format === 'uuid') return '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  if (format === 'date-time') return '2026-01-01T00:00:00.000Z';
  return 'string'.padEnd(minLength, '.');
}
