import type { Egress } from '../egress/egress.ts';

/** Response with any status. */
export interface TextResponse {
  readonly status: number;
  readonly text: string;
}

export interface FetchLimits {
  /** Milliseconds for the whole request. */
  readonly msMax: number;
  readonly bytesMax: number;
}

/**
 * Sends a request to another server. Does not follow redirects, which could lead anywhere. Rejects without a
 * response or if it exceeds a limit.
 */
export async function fetchText(
  url: string,
  init: Pick<RequestInit, 'method' | 'headers' | 'body'>,
  { fetch, msMax, bytesMax }: FetchLimits & Pick<Egress, 'fetch'>,
): Promise<TextResponse> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`no reply within ${msMax} ms`)), msMax);
  try {
    const reply = await fetch(url, { ...init, signal: controller.signal });
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of reply.body ?? []) {
      bytes += part.length;
      if (bytes > bytesMax) throw new Error(`a reply of more than ${bytesMax} bytes`);
      parts.push(part);
    }
    return { status: reply.status, text: Buffer.concat(parts).toString('utf8') };
  } finally {
    clearTimeout(timer);
    // Cancels the unread rest of the response.
    controller.abort();
  }
}
