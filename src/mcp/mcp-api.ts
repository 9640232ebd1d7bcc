/** Operations of the HTTP API that the tools call: inside the server, or over HTTP. */
export interface McpApi {
  /** Whether the caller gets the tools that write. */
  readonly mayWrite: boolean;
  /** Whether the server can answer questions. */
  mayAnswer(): Promise<boolean>;
  /** Calls an operation, such as `queries/top-snippets`, and returns its reply. Errors: AppError. */
  call(operation: string, request: object): Promise<unknown>;
  /** Returns a page image (JPEG) of a URL in a reply. Errors: AppError. */
  fetchPageImage(imageUrl: string): Promise<Uint8Array>;
}

/** Width of page images in pixels, enough to read small print. */
export const pageImageWidth = 1_024;
