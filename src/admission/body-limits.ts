import { limits } from '../core/limits.ts';

/** Limits of a request body, by the kind of operation. */
export interface BodyLimits {
  readonly bytesMax: number;
  /** Maximum number of JSON values: objects, lists, strings, numbers, true, false, null. */
  readonly jsonValuesMax: number;
  /**
   * Maximum number of objects, lists and strings, including field names, which cost many times as much as
   * numbers.
   */
  readonly jsonNodesMax: number;
}

/** Kind of a request body, which determines its limits. */
export type BodyKind = 'query' | 'mcp' | 'model' | 'document' | 'account' | 'key' | 'webhook';

const fixedBytesMax = {
  query: limits.queryBodyBytesMax,
  mcp: limits.mcpBodyBytesMax,
  account: limits.accountBodyBytesMax,
  key: limits.keyBodyBytesMax,
  webhook: limits.webhookBytesMax,
} as const;

/**
 * `documentBytesMax`: from the settings. `modelBytesMax`: charged bytes of one model call of the
 * organization.
 */
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
      // Charged bytes are a sixth less than their JSON; a raised limit raises this limit proportionally.
      const factor = Math.max(1, modelBytesMax / limits.modelBytesMax);
      const values = Math.floor(limits.smallJsonValuesMax * factor);
      const bytesMax = Math.floor(limits.modelBodyBytesMax * factor);
      return { bytesMax, jsonValuesMax: values, jsonNodesMax: values };
    }
    default:
      // No operation accepts a larger body than the settings allow for documents.
      return { bytesMax: Math.min(fixedBytesMax[kind], documentBytesMax), ...small };
  }
}
