/** Part of JSON Schema that the OpenAPI document uses. */
export interface DocumentSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly DocumentSchema[];
  readonly items?: DocumentSchema;
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | DocumentSchema;
  readonly patternProperties?: Readonly<Record<string, DocumentSchema>>;
}

/** Prints schemas as TypeScript. */
export interface SchemaPrinter {
  /** `export interface` or `export type` of a component. */
  declaration(name: string, schema: DocumentSchema): string;
  /** Type of a request or reply; `indent` is that of the line. */
  type(schema: DocumentSchema, indent: string): string;
}

const columnsMax = 110;

/** `isReadonly`: whether the properties and lists of a component are read-only. */
export function schemaPrinter(isReadonly: (name: string) => boolean): SchemaPrinter {
  return {
    declaration(name, schema) {
      const readonly = isReadonly(name);
      return Object.keys(schema.properties ?? {}).length === 0
        ? `export type ${name} = ${typeOf(schema, '', readonly)};`
        : `export interface ${name} ${objectType(schema, '', readonly)}`;
    },
    type: (schema, indent) => typeOf(schema, indent, true),
  };
}

function typeOf(schema: DocumentSchema, indent: string, readonly: boolean): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, '');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf !== undefined) {
    return [...new Set(schema.anyOf.map((branch) => typeOf(branch, indent, readonly)))].join(' | ');
  }
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return listType(typeOf(schema.items ?? {}, indent, readonly), readonly);
    case 'object':
      return schema.properties === undefined
        ? recordType(schema, indent, readonly)
        : objectType(schema, indent, readonly);
    case undefined:
      return 'unknown';
    default:
      throw new Error(`the type ${schema.type} of a schema is not supported`);
  }
}

function listType(item: string, readonly: boolean): string {
  return `${readonly ? 'readonly ' : ''}${item.includes(' ') ? `(${item})` : item}[]`;
}

function recordType(schema: DocumentSchema, indent: string, readonly: boolean): string {
  const { additionalProperties, patternProperties = {} } = schema;
  const [pattern] = Object.values(patternProperties);
  const value = pattern ?? (typeof additionalProperties === 'object' ? additionalProperties : {});
  const record = `Record<string, ${typeOf(value, indent, readonly)}>`;
  return readonly ? `Readonly<${record}>` : record;
}

function objectType(schema: DocumentSchema, indent: string, readonly: boolean): string {
  const { properties = {}, required = [] } = schema;
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, property]) => {
    const isOptional = !required.includes(name);
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    const type = typeOf(property, inner, readonly);
    return [
      ...docComment(describe(property), inner),
      `${inner}${readonly ? 'readonly ' : ''}${key}${isOptional ? '?' : ''}: ${type}${isOptional && type !== 'unknown' ? ' | undefined' : ''};`,
    ];
  });
  return lines.length === 0 ? 'Record<string, never>' : `{\n${lines.join('\n')}\n${indent}}`;
}

function describe({ description = '', default: value }: DocumentSchema): string {
  return value === undefined ? description : `${description} Default: \`${JSON.stringify(value)}\`.`.trim();
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value);
}

/** Lines of a comment, wrapped; none for an empty text. */
export function docComment(text: string, indent: string): string[] {
  if (text === '') return [];
  const safe = text.replaceAll('*/', '*\\/');
  if (indent.length + safe.length + 7 <= columnsMax) return [`${indent}/** ${safe} */`];
  const lines = [''];
  for (const word of safe.split(/\s+/)) {
    const line = lines.at(-1)!;
    if (line !== '' && indent.length + 3 + line.length + 1 + word.length > columnsMax) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`];
}

/** Names of the components that a value refers to, at any depth. */
export function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('$ref' in value && typeof value.$ref === 'string') return [value.$ref.replace(/^.*\//, '')];
  return Object.values(value).flatMap((each) => referencesIn(each));
}
