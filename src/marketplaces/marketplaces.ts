import type { Logger } from '../core/logger.ts';
import { AgreementBinding, type AgreementBindingOptions } from './agreement-binding.ts';
import { AgreementLifecycle, type AgreementLifecycleOptions } from './agreement-lifecycle.ts';
import { isAwsAgreement } from './aws-agreement.ts';
import { MarketplaceMaintenance } from './marketplace-maintenance.ts';
import { MarketplaceMessages, type MarketplaceMessagesOptions } from './marketplace-messages.ts';
import { SignUps, type SignUpsOptions } from './sign-ups.ts';

type MarketplacesOptions = SignUpsOptions &
  AgreementLifecycleOptions &
  Omit<AgreementBindingOptions, 'signUps' | 'lifecycle'> &
  Omit<MarketplaceMessagesOptions, 'lifecycle'> & { readonly logger: Logger };

/** Purchases at marketplaces: from the sign-up to the end of the agreement. */
export class Marketplaces {
  readonly signUps: SignUps;
  readonly lifecycle: AgreementLifecycle;
  readonly binding: AgreementBinding;
  readonly messages: MarketplaceMessages;
  readonly maintenance: MarketplaceMaintenance;
  readonly #options: MarketplacesOptions;

  constructor(options: MarketplacesOptions) {
    this.#options = options;
    this.signUps = new SignUps(options);
    this.lifecycle = new AgreementLifecycle(options);
    const components = { ...options, signUps: this.signUps, lifecycle: this.lifecycle };
    this.binding = new AgreementBinding(components);
    this.messages = new MarketplaceMessages(components);
    this.maintenance = new MarketplaceMaintenance(components);
  }

  /** Resumes work that the last run left unfinished. */
  async start(): Promise<void> {
    await this.lifecycle.grantPendingTiers();
    await this.#options.aws?.metering.warnOfOtherSources();
  }

  /**
   * Deletes the agreements of a deleted organization. Its usage is closed first, so that it is still
   * reported.
   */
  async deleteOrganization(organizationId: string): Promise<void> {
    const { agreements } = this.#options;
    for (const agreement of await agreements.listByOrganization(organizationId)) {
      if (isAwsAgreement(agreement)) await this.lifecycle.closeFinalHours(agreement);
      await agreements.delete(agreement);
    }
  }
}
