import { AppError } from '../core/app-error.ts';
import type { Tier } from '../storage/organizations.ts';
import type { AwsMarketplace } from './aws-marketplace.ts';
import type { AwsMetering } from './aws-metering.ts';
import type { SnsReceiver } from './sns-receiver.ts';
import type { VercelApi } from './vercel-api.ts';
import type { VercelVariables } from './vercel-variables.ts';

export interface AwsComponents {
  readonly client: Pick<AwsMarketplace, 'resolveCustomer' | 'tierOf'>;
  readonly metering: Pick<
    AwsMetering,
    | 'isEnabled'
    | 'currentHour'
    | 'closeCompleteHours'
    | 'closeHoursBefore'
    | 'reportHours'
    | 'warnOfOtherSources'
  >;
  /** Null if no topic is configured. */
  readonly snsReceiver: SnsReceiver | null;
}

export interface VercelComponents {
  readonly api: VercelApi;
  readonly variables: VercelVariables;
  /** Tier that an installation entitles to; null for none. */
  readonly tier: Tier | null;
}

/** Null for a marketplace that is not configured. */
export interface ConfiguredMarketplaces {
  readonly aws: AwsComponents | null;
  readonly vercel: VercelComponents | null;
}

export function notConfiguredError(product: string, setting: string): AppError {
  return new AppError('unavailable', `${product} is not configured. Ask the operator to set ${setting}.`, {
    shouldRetry: false,
  });
}
