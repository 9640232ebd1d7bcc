/** What somebody typed, as JSON, or what is wrong with it. */
export type ParsedJson =
  | { readonly value: unknown; readonly fault: null }
  | { readonly value: null; readonly fault: string };

export function parsedJson(text: string): ParsedJson {
  try {
    return { value: JSON.parse(text), fault: null };
  } catch (error) {
    return {
      value: null,
      fault: `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
