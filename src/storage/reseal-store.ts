import type { Random } from '../core/ids.ts';
import { Sealer } from '../core/sealer.ts';
import { deriveSecrets, type SecretPurpose } from './installation-secrets.ts';
import { MarketplaceRecords } from './marketplaces.ts';
import { SecondFactorRecords } from './second-factors.ts';
import { credentialsContext, Sources } from './sources.ts';
import type { Store, WriteOperation } from './store.ts';
import { Webhooks } from './webhooks.ts';

/** Seals a value with the current secret; null if it is sealed with it, or if no secret opens it. */
type Reseal = (sealed: Uint8Array, context: string) => Uint8Array | null;

const operationsPerWrite = 1_000;

/**
 * Encrypts with the current secret of the installation all values that earlier secrets encrypted: second factors, secrets
 * of webhooks, credentials of sources, and tokens and keys of Vercel installations. Nothing else may change the store
 * meanwhile. Idempotent, so an interrupted call can be repeated. `secrets`: the current one first. Returns the number of
 * records that changed.
 */
export async function resealStore(
  store: Store,
  secrets: readonly Uint8Array[],
  random: Random,
): Promise<number> {
  const resealFor = (purpose: SecretPurpose): Reseal => {
    const sealer = new Sealer(deriveSecrets(secrets, purpose), random);
    return (sealed, context) => {
      if (sealer.isCurrent(sealed, context)) return null;
      const text = sealer.open(sealed, context);
      return text === null ? null : sealer.seal(text, context);
    };
  };
  const operations = [
    ...(await resealSecondFactors(store, resealFor('second-factors'))),
    ...(await resealWebhooks(store, resealFor('webhooks'))),
    ...(await resealSources(store, resealFor('sources'))),
    ...(await resealAgreements(store, resealFor('marketplaces'))),
  ];
  for (let start = 0; start < operations.length; start += operationsPerWrite)
    await store.write(operations.slice(start, start + operationsPerWrite), { mayUseReserve: true });
  return operations.length;
}

async function resealSecondFactors(store: Store, reseal: Reseal): Promise<WriteOperation[]> {
  const records = new SecondFactorRecords(store);
  const operations: WriteOperation[] = [];
  for (const { userId, secondFactor } of await records.listAll()) {
    const sealedSecret = reseal(secondFactor.sealedSecret, userId);
    if (sealedSecret !== null) operations.push(records.put(userId, { ...secondFactor, sealedSecret }));
  }
  return operations;
}

async function resealWebhooks(store: Store, reseal: Reseal): Promise<WriteOperation[]> {
  const records = new Webhooks(store);
  const operations: WriteOperation[] = [];
  for (const webhook of await records.listAll()) {
    let hasChanged = false;
    const secrets = webhook.secrets.map((secret) => {
      const sealed = reseal(secret.sealed, webhook.webhookId);
      hasChanged ||= sealed !== null;
      return sealed === null ? secret : { ...secret, sealed };
    });
    if (hasChanged) operations.push(records.put({ ...webhook, secrets }));
  }
  return operations;
}

async function resealSources(store: Store, reseal: Reseal): Promise<WriteOperation[]> {
  const records = new Sources(store);
  const operations: WriteOperation[] = [];
  for (const source of await records.listAll()) {
    if (source.credentials === null) continue;
    const credentials = reseal(source.credentials, credentialsContext(source.sourceId));
    if (credentials !== null) operations.push(records.put({ ...source, credentials }));
  }
  return operations;
}

async function resealAgreements(store: Store, reseal: Reseal): Promise<WriteOperation[]> {
  const records = new MarketplaceRecords(store);
  const operations: WriteOperation[] = [];
  for (const agreement of await records.listAgreements('vercel')) {
    const { offer, sealedKey } = agreement;
    if (offer.marketplace !== 'vercel') continue;
    const token = reseal(offer.sealedToken, offer.installationId);
    const key = sealedKey === undefined ? null : reseal(sealedKey, offer.installationId);
    if (token === null && key === null) continue;
    operations.push(
      ...records.putAgreement({
        ...agreement,
        ...(token === null ? {} : { offer: { ...offer, sealedToken: token } }),
        ...(key === null ? {} : { sealedKey: key }),
      }),
    );
  }
  return operations;
}
