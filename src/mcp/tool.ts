import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { type Static, type TProperties, Type } from '../schemas/typebox.ts';
import { compileValidator } from '../schemas/validate.ts';
import type { McpApi } from './mcp-api.ts';

/** Reply of a tool. */
export interface McpToolReply {
  readonly text: string;
  /** Page image that belongs to the text. */
  readonly image?: { readonly uri: string; readonly name: string };
}

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly isWriting: boolean;
  /** JSON schema of the arguments. */
  readonly inputSchema: { readonly type: 'object' };
  /** Errors: AppError, `invalid` for arguments that do not match the schema. */
  run(api: McpApi, args: unknown): Promise<McpToolReply>;
}

interface ToolOptions<P extends TProperties> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly isWriting?: true;
  readonly fields: P;
  readonly run: (api: McpApi, args: Static<ReturnType<typeof Type.Object<P>>>) => Promise<McpToolReply>;
}

export function defineTool<P extends TProperties>(options: ToolOptions<P>): McpTool {
  const { name, title, description, fields, run } = options;
  const schema = Type.Object(fields);
  const validate = compileValidator(schema, ['arguments']);
  return {
    name,
    title,
    description,
    isWriting: options.isWriting ?? false,
    inputSchema: JSON.parse(JSON.stringify(schema)) as McpTool['inputSchema'],
    run: async (api, args) => run(api, validate(args ?? {})),
  };
}

export const collectionField = Type.String({ description: 'Name of the collection.' });
export const pathField = Type.String({ description: 'Path of the document in the collection.' });
export const maxTokensField = Type.Optional(
  Type.Integer({
    description: `Maximum length of the reply in tokens, ${limits.mcpReplyTokensMin} to ${limits.mcpReplyTokensMax}; default ${limits.mcpReplyTokensDefault}.`,
    minimum: limits.mcpReplyTokensMin,
    maximum: limits.mcpReplyTokensMax,
  }),
);

/** Returns an error message for the model; rethrows bugs. */
export function toToolError(error: unknown): string {
  if (!(error instanceof AppError)) throw error;
  const { issues } = error.options;
  return issues === undefined
    ? error.message
    : issues.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('\n');
}
