import type { Logger } from '../base/logger.ts';
import type { Sealing } from '../base/sealing.ts';
import { Mutex } from '../core/async/mutex.ts';
import type { Agreement, VariablesState, VercelOffer } from '../store/marketplaces.ts';
import type { Agreements } from './agreements.ts';
import { type VercelAccess, type VercelApi, VercelRefusal } from './vercel-api.ts';

/** API keys that a holder outside has: each holder has one in an organisation. */
export interface HeldKeys {
  /** A new key, in place of the one that the holder had. */
  issue(organizationId: string, holder: string): Promise<string>;
  end(organizationId: string, holder: string): Promise<void>;
  isAlive(secret: string): boolean;
}

export interface VercelVariablesOptions {
  readonly api: Pick<VercelApi, 'projects' | 'renewedToken' | 'setVariables'>;
  readonly agreements: Agreements;
  readonly sealing: Sealing;
  readonly keys: HeldKeys;
  /** Address that clients are told: `https://host/v1`. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
}

export type VercelAgreement = Agreement & { readonly offer: VercelOffer };

/** What the clients of this server read. */
export const variableNames = { key: 'ZEROENTROPY_API_KEY', baseUrl: 'ZEROENTROPY_BASE_URL' } as const;

/** Projects at a time: each is one call of Vercel. */
const projectsAtATime = 4;

/**
 * Puts an API key of the organisation, and where this server is, into the projects that somebody chose when they installed
 * the integration. An installation has one key; it stays sealed beside its agreement, so that projects that come later
 * get the same one, and it ends with the installation.
 */
export class VercelVariables {
  readonly #options: VercelVariablesOptions;
  readonly #turns = new Mutex();

  constructor(options: VercelVariablesOptions) {
    this.#options = options;
  }

  /** Harmless however often. `waiting` when Vercel does not answer: housekeeping tries again. */
  set(agreement: VercelAgreement): Promise<VariablesState | null> {
    return this.#turns.run(async () => {
      const state = await this.#put(agreement);
      const after = await this.#note(agreement.offer, (known) => ({ ...known, variables: state }));
      return after?.variables ?? null;
    });
  }

  /** Ends the key, then notes that the agreement has ended: nothing is set in between. */
  end<T>({ offer, organizationId }: VercelAgreement, noteEnd: () => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      await this.#options.keys.end(organizationId, holderOf(offer));
      return noteEnd();
    });
  }

  /** Seals again with the current secret what an earlier one sealed, so that the earlier one can be forgotten. */
  reseal(agreement: VercelAgreement): Promise<void> {
    return this.#turns.run(async () => {
      const { sealing } = this.#options;
      const { installationId } = agreement.offer;
      const again = (sealed: Uint8Array) => {
        if (sealing.isCurrent(sealed, installationId)) return null;
        const opened = sealing.open(sealed, installationId);
        return opened === null ? null : sealing.seal(opened, installationId);
      };
      const token = again(agreement.offer.sealedToken);
      const key = agreement.sealedKey === undefined ? null : again(agreement.sealedKey);
      if (token === null && key === null) return;
      await this.#note(agreement.offer, (known) => ({
        ...known,
        ...(token === null ? {} : { offer: { ...agreement.offer, sealedToken: token } }),
        ...(key === null ? {} : { sealedKey: key }),
      }));
    });
  }

  async #put({ offer, organizationId }: VercelAgreement): Promise<VariablesState> {
    const { api, baseUrl, logger } = this.#options;
    const { installationId } = offer;
    try {
      const { access, projects } = await this.#opened(offer);
      const key = await this.#keyOf(offer);
      if (key === null) return 'refused'; // It has ended meanwhile.
      const variables = { [variableNames.key]: key, [variableNames.baseUrl]: baseUrl() };
      for (let at = 0; at < projects.length; at += projectsAtATime) {
        const some = projects.slice(at, at + projectsAtATime);
        await Promise.all(some.map((id) => api.setVariables(access, id, variables)));
      }
      return 'set';
    } catch (error) {
      logger.warn(
        { organizationId, installation: installationId, error: String(error) },
        'the variables of projects at Vercel could not be set',
      );
      return error instanceof VercelRefusal ? 'refused' : 'waiting';
    }
  }

  /** The projects, and what opens them: a token that Vercel let expire is asked for anew, once. */
  async #opened(offer: VercelOffer): Promise<{ access: VercelAccess; projects: string[] }> {
    const { api, sealing } = this.#options;
    const { installationId, teamId, sealedToken } = offer;
    const token = sealing.open(sealedToken, installationId);
    // Null: it was sealed with a secret of the installation that is gone.
    if (token !== null) {
      try {
        return { access: { token, teamId }, projects: await api.projects({ token, teamId }) };
      } catch (error) {
        if (!(error instanceof VercelRefusal && error.ofToken)) throw error;
      }
    }
    const access = { token: await api.renewedToken(installationId), teamId };
    const renewed = { ...offer, sealedToken: sealing.seal(access.token, installationId) };
    await this.#note(offer, (known) => ({ ...known, offer: renewed }));
    return { access, projects: await api.projects(access) };
  }

  /** The key of an installation, made where there is none; null for one that has ended. */
  async #keyOf(offer: VercelOffer): Promise<string | null> {
    const { agreements, sealing, keys } = this.#options;
    const { installationId } = offer;
    const known = agreements.records.agreement('vercel', installationId);
    if (known === undefined || known.endedAt !== null) return null;
    const held = known.sealedKey === undefined ? null : sealing.open(known.sealedKey, installationId);
    if (held !== null && keys.isAlive(held)) return held;
    const secret = await keys.issue(known.organizationId, holderOf(offer));
    const sealedKey = sealing.seal(secret, installationId);
    const noted = await this.#note(offer, (latest) => ({ ...latest, sealedKey }));
    if (noted?.sealedKey === sealedKey) return secret;
    await keys.end(known.organizationId, holderOf(offer));
    return null;
  }

  /** Of one that has ended nothing is noted any more. */
  #note(offer: VercelOffer, change: (known: Agreement) => Agreement): Promise<Agreement | undefined> {
    return this.#options.agreements.change(offer, (known) =>
      known === undefined || known.endedAt !== null ? null : { after: change(known) },
    );
  }
}

/** Who has the key, as the list of keys shows it. */
function holderOf({ installationId }: VercelOffer): string {
  return `vercel:${installationId}`;
}
