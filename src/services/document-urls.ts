import { type FileToken, issueToken } from '../storage/tokens.ts';
import type { VersionRecord } from '../storage/versions.ts';

const filePath = '/v1/documents/get-document?token=';

/** Absolute URLs of raw documents and page images; the token in the URL is the only credential. */
export class DocumentUrls {
  readonly #secret: Uint8Array;

  /** `secret`: 32 bytes, one per installation. */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  fileUrl(baseUrl: string, documentId: string): string {
    return `${baseUrl}${filePath}${issueToken(this.#secret, { kind: 'file', documentId })}`;
  }

  /** Returns null when the pages of this document cannot be rendered. */
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
