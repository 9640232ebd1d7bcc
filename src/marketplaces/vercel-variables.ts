import { Mutex } from '../core/async/mutex.ts';
import type { Logger } from '../core/logger.ts';
import type { Sealer } from '../core/sealer.ts';
import type { MarketplaceAgreement, VariablesState, VercelOffer } from '../storage/marketplaces.ts';
import type { Agreements } from './agreements.ts';
import { type VercelAccess, type VercelApi, VercelRejectedError } from './vercel-api.ts';

/** API keys of external holders, with one key per holder and organization. */
export interface IntegrationKeys {
  /** Issues a new key, replacing the previous one of the holder. */
  issue(organizationId: string, holder: string): Promise<string>;
  revoke(organizationId: string, holder: string): Promise<void>;
  isValid(secret: string): boolean;
}

export interface VercelVariablesOptions {
  readonly api: Pick<VercelApi, 'listProjects' | 'renewToken' | 'setVariables'>;
  readonly agreements: Agreements;
  readonly sealer: Sealer;
  readonly keys: IntegrationKeys;
  /** Base URL for clients: `https://host/v1`. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
}

export type VercelAgreement = MarketplaceAgreement & { readonly offer: VercelOffer };

/** Variables read by the clients of this server. */
export const variableNames = { key: 'ZEROENTROPY_API_KEY', baseUrl: 'ZEROENTROPY_BASE_URL' } as const;

/** Number of projects updated concurrently, with one Vercel call each. */
const projectsPerBatch = 4;

/**
 * Sets an API key of the organization and the address of this server in the projects selected when the
 * integration was installed. An installation has one key. It is stored sealed with the agreement, so that
 * projects added later get the same one, and is revoked with the installation.
 */
export class VercelVariables {
  readonly #options: VercelVariablesOptions;
  readonly #mutex = new Mutex();

  constructor(options: VercelVariablesOptions) {
    this.#options = options;
  }

  /** Idempotent. Returns `waiting` if Vercel does not answer; periodic maintenance retries. */
  set(agreement: VercelAgreement): Promise<VariablesState | null> {
    return this.#mutex.run(async () => {
      const state = await this.#setProjectVariables(agreement);
      const after = await this.#updateAgreement(agreement.offer, (known) => ({ ...known, variables: state }));
      return after?.variables ?? null;
    });
  }

  /**
   * Revokes the key, then runs `recordEnd`, which records the end of the agreement. No variables are set in
   * between.
   */
  endInstallation<T>({ offer, organizationId }: VercelAgreement, recordEnd: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      await this.#options.keys.revoke(organizationId, holderOf(offer));
      return recordEnd();
    });
  }

  async #setProjectVariables({ offer, organizationId }: VercelAgreement): Promise<VariablesState> {
    const { api, baseUrl, logger } = this.#options;
    const { installationId } = offer;
    try {
      const { access, projects } = await this.#openProjects(offer);
      const key = await this.#ensureKey(offer);
      if (key === null) return 'refused'; // The agreement has ended meanwhile.
      const variables = { [variableNames.key]: key, [variableNames.baseUrl]: baseUrl() };
      for (let at = 0; at < projects.length; at += projectsPerBatch) {
        const batch = projects.slice(at, at + projectsPerBatch);
        await Promise.all(batch.map((id) => api.setVariables(access, id, variables)));
      }
      return 'set';
    } catch (error) {
      logger.warn(
        { organizationId, installation: installationId, error: String(error) },
        'setting environment variables of Vercel projects failed',
      );
      return error instanceof VercelRejectedError ? 'refused' : 'waiting';
    }
  }

  /** Returns the projects and their access token. Renews a token that Vercel rejects, once. */
  async #openProjects(offer: VercelOffer): Promise<{ access: VercelAccess; projects: string[] }> {
    const { api, sealer } = this.#options;
    const { installationId, teamId, sealedToken } = offer;
    const token = sealer.open(sealedToken, installationId);
    // Null: sealed with a removed secret of the installation.
    if (token !== null) {
      try {
        return { access: { token, teamId }, projects: await api.listProjects({ token, teamId }) };
      } catch (error) {
        if (!(error instanceof VercelRejectedError && error.isTokenError)) throw error;
      }
    }
    const access = { token: await api.renewToken(installationId), teamId };
    const renewed = { ...offer, sealedToken: sealer.seal(access.token, installationId) };
    await this.#updateAgreement(offer, (known) => ({ ...known, offer: renewed }));
    return { access, projects: await api.listProjects(access) };
  }

  /** Returns the key of an installation; issues one if there is none. Null for an ended installation. */
  async #ensureKey(offer: VercelOffer): Promise<string | null> {
    const { agreements, sealer, keys } = this.#options;
    const { installationId } = offer;
    const known = agreements.records.findAgreement('vercel', installationId);
    if (known === undefined || known.endedAt !== null) return null;
    const existingKey = known.sealedKey === undefined ? null : sealer.open(known.sealedKey, installationId);
    if (existingKey !== null && keys.isValid(existingKey)) return existingKey;
    const secret = await keys.issue(known.organizationId, holderOf(offer));
    const sealedKey = sealer.seal(secret, installationId);
    const updated = await this.#updateAgreement(offer, (latest) => ({ ...latest, sealedKey }));
    if (updated?.sealedKey === sealedKey) return secret;
    await keys.revoke(known.organizationId, holderOf(offer));
    return null;
  }

  /** Does nothing for an agreement that has ended. */
  #updateAgreement(
    offer: VercelOffer,
    change: (known: MarketplaceAgreement) => MarketplaceAgreement,
  ): Promise<MarketplaceAgreement | undefined> {
    return this.#options.agreements.update(offer, (known) =>
      known === undefined || known.endedAt !== null ? null : { after: change(known) },
    );
  }
}

/** Name of the holder as shown in the list of keys. */
function holderOf({ installationId }: VercelOffer): string {
  return `vercel:${installationId}`;
}

export function isVercelAgreement(agreement: MarketplaceAgreement): agreement is VercelAgreement {
  return agreement.offer.marketplace === 'vercel';
}
