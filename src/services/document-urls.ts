import { type FileToken, issueToken } from '../storage/tokens.ts';
import type { VersionRecord } from '../storage/versions.ts';

const filePath = '/v1/documents/get-document?token=';

/** Absolute addresses of raw documents and page images; the token in them is the only credential. */
export class DocumentUrls {
  readonly #secret: Uint8Array;

  /** `secret`: the installation's, 32 bytes. */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  fileUrl(baseUrl: string, documentId: string): string {
    return `${this.fileUrlPrefix(baseUrl)}${issueToken(this.#secret, { kind: 'file', documentId })}`;
  }

  /** The same up to the token, of any document. */
  fileUrlPrefix(baseUrl: string): string {
    return `${baseUrl}${filePath}`;
  }

  /** Null when pages of this document cannot be drawn. */
  pageImageUrl(
    baseUrl: string,
    version: Pick<VersionRecord, 'documentId' | 'hasImages'>,
    page: number,
  ): string | null {
    if (!version.hasImages) return null;
    const token: FileToken = { kind: 'page', documentId: version.documentId, page };
    return `${baseUrl}/v1/documents/get-page-image?token=${issueToken(this.#secret, token)}`;
  }
}
