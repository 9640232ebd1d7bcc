import { Mutex } from '../core/async/mutex.ts';
import type { Logger } from '../core/logger.ts';
import type { Sealer } from '../core/sealer.ts';
import type { MarketplaceAgreement, VariablesState, VercelOffer } from '../storage/marketplaces.ts';
import type { Agreements } from './agreements.ts';
import { type VercelAccess, type VercelApi, VercelRejectedError } from './vercel-api.ts';

/** API keys that a holder outside has: each holder has one in an organisation. */
export interface IntegrationKeys {
  /** A new key, in place of the one that the holder had. */
  issue(organizationId: string, holder: string): Promise<string>;
  revoke(organizationId: string, holder: string): Promise<void>;
  isValid(secret: string): boolean;
}

export interface VercelVariablesOptions {
  readonly api: Pick<VercelApi, 'listProjects' | 'renewToken' | 'setVariables'>;
  readonly agreements: Agreements;
  readonly sealer: Sealer;
  readonly keys: IntegrationKeys;
  /** Address that clients are told: `https://host/v1`. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
}

export type VercelAgreement = MarketplaceAgreement & { readonly offer: VercelOffer };

/** What the clients of this server read. */
export const variableNames = { key: 'ZEROENTROPY_API_KEY', baseUrl: 'ZEROENTROPY_BASE_URL' } as const;

/** Projects at a time: each is one call of Vercel. */
const projectsPerBatch = 4;

/**
 * Puts an API key of the organisation, and where this server is, into the projects that somebody chose when they installed
 * the integration. An installation has one key; it stays sealed beside its agreement, so that projects that come later
 * get the same one, and it ends with the installation.
 */
export class VercelVariables {
  readonly #options: VercelVariablesOptions;
  readonly #mutex = new Mutex();

  constructor(options: VercelVariablesOptions) {
    this.#options = options;
  }

  /** Harmless however often. `waiting` when Vercel does not answer: housekeeping tries again. */
  set(agreement: VercelAgreement): Promise<VariablesState | null> {
    return this.#mutex.run(async () => {
      const state = await this.#setProjectVariables(agreement);
      const after = await this.#updateAgreement(agreement.offer, (known) => ({ ...known, variables: state }));
      return after?.variables ?? null;
    });
  }

  /** Ends the key, then notes that the agreement has ended: nothing is set in between. */
  endInstallation<T>({ offer, organizationId }: VercelAgreement, noteEnd: () => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      await this.#options.keys.revoke(organizationId, holderOf(offer));
      return noteEnd();
    });
  }

  /** Seals again with the current secret what an earlier one sealed, so that the earlier one can be forgotten. */
  reseal(agreement: VercelAgreement): Promise<void> {
    return this.#mutex.run(async () => {
      const { sealer } = this.#options;
      const { installationId } = agreement.offer;
      const resealIfStale = (sealed: Uint8Array) => {
        if (sealer.isCurrent(sealed, installationId)) return null;
        const opened = sealer.open(sealed, installationId);
        return opened === null ? null : sealer.seal(opened, installationId);
      };
      const token = resealIfStale(agreement.offer.sealedToken);
      const key = agreement.sealedKey === undefined ? null : resealIfStale(agreement.sealedKey);
      if (token === null && key === null) return;
      await this.#updateAgreement(agreement.offer, (known) => ({
        ...known,
        ...(token === null ? {} : { offer: { ...agreement.offer, sealedToken: token } }),
        ...(key === null ? {} : { sealedKey: key }),
      }));
    });
  }

  async #setProjectVariables({ offer, organizationId }: VercelAgreement): Promise<VariablesState> {
    const { api, baseUrl, logger } = this.#options;
    const { installationId } = offer;
    try {
      const { access, projects } = await this.#openProjects(offer);
      const key = await this.#ensureKey(offer);
      if (key === null) return 'refused'; // It has ended meanwhile.
      const variables = { [variableNames.key]: key, [variableNames.baseUrl]: baseUrl() };
      for (let at = 0; at < projects.length; at += projectsPerBatch) {
        const batch = projects.slice(at, at + projectsPerBatch);
        await Promise.all(batch.map((id) => api.setVariables(access, id, variables)));
      }
      return 'set';
    } catch (error) {
      logger.warn(
        { organizationId, installation: installationId, error: String(error) },
        'the variables of projects at Vercel could not be set',
      );
      return error instanceof VercelRejectedError ? 'refused' : 'waiting';
    }
  }

  /** The projects, and what opens them: a token that Vercel let expire is asked for anew, once. */
  async #openProjects(offer: VercelOffer): Promise<{ access: VercelAccess; projects: string[] }> {
    const { api, sealer } = this.#options;
    const { installationId, teamId, sealedToken } = offer;
    const token = sealer.open(sealedToken, installationId);
    // Null: it was sealed with a secret of the installation that is gone.
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

  /** The key of an installation, made where there is none; null for one that has ended. */
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

  /** Of one that has ended nothing is noted any more. */
  #updateAgreement(
    offer: VercelOffer,
    change: (known: MarketplaceAgreement) => MarketplaceAgreement,
  ): Promise<MarketplaceAgreement | undefined> {
    return this.#options.agreements.update(offer, (known) =>
      known === undefined || known.endedAt !== null ? null : { after: change(known) },
    );
  }
}

/** Who has the key, as the list of keys shows it. */
function holderOf({ installationId }: VercelOffer): string {
  return `vercel:${installationId}`;
}
