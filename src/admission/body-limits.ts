import { limits } from '../core/limits.ts';

/** What a request body may be, by the kind of operation that reads it. */
export interface BodyLimits {
  readonly bytesMax: number;
  /** Values of its JSON: objects, lists, strings, numbers, true, false, null. */
  readonly jsonValuesMax: number;
  /** Objects, lists and strings (names of fields too), which cost many times what a number does. */
  readonly jsonNodesMax: number;
}

export type BodyKind = 'query' | 'model' | 'document' | 'account' | 'key' | 'webhook';

/** Operations that are not of the kind of their side: `account` under /api and /v1/admin, else `query`. */
const operationKinds: Readonly<Record<string, BodyKind>> = {
  'add-document': 'document',
  'add-documents': 'document',
  'parse-document': 'document',
  embed: 'model',
  rerank: 'model',
  embeddings: 'model',
  'cohere-rerank': 'model',
  'add-api-key': 'key',
  'update-api-key': 'key',
  'add-organization-api-key': 'key',
  'update-organization-api-key': 'key',
};

const fixedBytesMax = {
  query: limits.queryBodyBytesMax,
  account: limits.accountBodyBytesMax,
  key: limits.keyBodyBytesMax,
  webhook: limits.webhookBytesMax,
} as const;

export function bodyKindFor(operation: string, side: 'retrieval' | 'account' | 'webhook'): BodyKind {
  if (side === 'webhook') return 'webhook';
  return operationKinds[operation] ?? (side === 'account' ? 'account' : 'query');
}

/** `documentBytesMax`: of the settings. `modelBytesMax`: charged bytes of one model call of the organization. */
export function bodyLimitsFor(
  kind: BodyKind,
  { documentBytesMax, modelBytesMax }: { readonly documentBytesMax: number; readonly modelBytesMax: number },
): BodyLimits {
  const small = { jsonValuesMax: limits.smallJsonValuesMax, jsonNodesMax: limits.smallJsonValuesMax };
  switch (kind) {
    case 'document': {
      const { jsonValuesMax, jsonNodesMax } = limits;
      return { bytesMax: documentBytesMax, jsonValuesMax, jsonNodesMax };
    }
    case 'model': {
      // Charged bytes are a sixth less than the JSON that brings them; a raised limit raises this one.
      const factor = Math.max(1, modelBytesMax / limits.modelBytesMax);
      const values = Math.floor(limits.smallJsonValuesMax * factor);
      const bytesMax = Math.floor(limits.modelBodyBytesMax * factor);
      return { bytesMax, jsonValuesMax: values, jsonNodesMax: values };
    }
    default:
      // No operation takes a larger body than the settings allow for documents.
      return { bytesMax: Math.min(fixedBytesMax[kind], documentBytesMax), ...small };
  }
}
