import { type FileToken, issueToken } from '../store/tokens.ts';
import type { VersionRecord } from '../store/versions.ts';

const filePlace = '/v1/documents/get-document?token=';

/** Absolute addresses of raw documents and page images; the token in them is the only credential. */
export class Addresses {
  readonly #secret: Uint8Array;

  /** `secret`: the installation's, 32 bytes. */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  file(baseUrl: string, documentId: string): string {
    return `${this.files(baseUrl)}${issueToken(this.#secret, { kind: 'file', documentId })}`;
  }

  /** The same up to the token, of any document. */
  files(baseUrl: string): string {
    return `${baseUrl}${filePlace}`;
  }

  /** Null when pages of this document cannot be drawn. */
  pageImage(
    baseUrl: string,
    version: Pick<VersionRecord, 'documentId' | 'hasImages'>,
    page: number,
  ): string | null {
    if (!version.hasImages) return null;
    const token: FileToken = { kind: 'page', documentId: version.documentId, page };
    return `${baseUrl}/v1/documents/get-page-image?token=${issueToken(this.#secret, token)}`;
  }
}
