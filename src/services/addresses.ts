import { type FileToken, issueToken } from '../store/tokens.ts';
import type { VersionRecord } from '../store/versions.ts';

/** Absolute addresses of raw documents and page images; the token in them is the only credential. */
export class Addresses {
  readonly #secret: Uint8Array;

  /** `secret`: the installation's, 32 bytes. */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  file(baseUrl: string, documentId: string): string {
    return this.#address(baseUrl, 'get-document', { kind: 'file', documentId });
  }

  /** Null when pages of this document cannot be drawn. */
  pageImage(
    baseUrl: string,
    version: Pick<VersionRecord, 'documentId' | 'hasImages'>,
    page: number,
  ): string | null {
    if (!version.hasImages) return null;
    return this.#address(baseUrl, 'get-page-image', { kind: 'page', documentId: version.documentId, page });
  }

  #address(baseUrl: string, operation: string, token: FileToken): string {
    return `${baseUrl}/v1/documents/${operation}?token=${issueToken(this.#secret, token)}`;
  }
}
