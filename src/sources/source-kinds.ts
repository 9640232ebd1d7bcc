import { AppError } from '../core/app-error.ts';
import type { Sealer } from '../core/sealer.ts';
import { credentialsContext, type SourceRecord } from '../storage/sources.ts';
import type { Source } from './source.ts';

export type SourceCredentials = Readonly<Record<string, string>>;

/** Opens the sources of one kind. */
export interface SourceOpener {
  /** Names of the credentials that it uses. */
  readonly credentialNames: readonly string[];
  /** Whether the kind can watch its origin. */
  readonly canWatch: boolean;
  /** Errors: AppError if the settings are not allowed or the origin cannot be used. */
  open(
    record: Pick<SourceRecord, 'sourceId' | 'organizationId' | 'settings'>,
    credentials: SourceCredentials,
  ): Promise<Source>;
  /** Deletes what it keeps for a source that is deleted; absent: nothing. Idempotent. */
  forget?(sourceId: string): Promise<void>;
}

/** All kinds of sources that this server can open. */
export class SourceKinds {
  readonly #openers: ReadonlyMap<string, SourceOpener>;
  readonly #sealer: Sealer;

  constructor(openers: Readonly<Record<string, SourceOpener>>, sealer: Sealer) {
    this.#openers = new Map(Object.entries(openers));
    this.#sealer = sealer;
  }

  openerOf(kind: string): SourceOpener {
    const opener = this.#openers.get(kind);
    if (opener === undefined) throw new Error(`unknown kind of source: ${kind}`);
    return opener;
  }

  seal(sourceId: string, credentials: SourceCredentials): Uint8Array {
    return this.#sealer.seal(JSON.stringify(credentials), credentialsContext(sourceId));
  }

  /** Errors: those of `SourceOpener.open`; `conflict` if the credentials cannot be decrypted. */
  open(record: SourceRecord): Promise<Source> {
    return this.openerOf(record.kind).open(record, this.#unseal(record));
  }

  /** Deletes what is kept outside the store for a source that is deleted. Idempotent. */
  async forget({ kind, sourceId }: SourceRecord): Promise<void> {
    await this.openerOf(kind).forget?.(sourceId);
  }

  #unseal({ sourceId, credentials }: SourceRecord): SourceCredentials {
    if (credentials === null) return {};
    const text = this.#sealer.open(credentials, credentialsContext(sourceId));
    if (text === null)
      throw new AppError(
        'conflict',
        'The credentials of the source cannot be decrypted, because the secrets of this server were replaced. Set them again with update-source.',
      );
    return JSON.parse(text) as SourceCredentials;
  }
}
