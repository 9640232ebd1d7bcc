import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { GetMarketplaceSignUpResponse } from '../../../../src/schemas/marketplaces.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Check, Field } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { toast } from '../../parts/toasts.tsx';
import { Trouble } from '../../parts/trouble.tsx';
import { useDoing } from '../../server/doing.ts';
import { useLoad } from '../../server/load.ts';
import { bindMarketplace, marketplaceSignUp } from '../../server/marketplace.ts';
import { chooseOrganization, loadSession, organizations } from '../../server/session.ts';
import { addOrganization } from '../../server/team.ts';
import { tierName } from './tiers.ts';

const names = { aws: 'AWS Marketplace', vercel: 'Vercel' } as const;

/** Where somebody lands who comes from a marketplace: says for which organisation it is. */
export function MarketplacePage() {
  const { query } = useLocation();
  const signUp = query.sign_up ?? '';
  const waiting = useLoad((abort) => marketplaceSignUp(signUp, abort), [signUp]);
  if (waiting.data !== undefined) return <Take signUp={signUp} from={waiting.data} />;
  if (waiting.error === null) {
    return (
      <Page title="From the marketplace">
        <SkeletonRows rows={3} />
      </Page>
    );
  }
  return (
    <Page title="Nothing waits here">
      <Card>
        <Trouble error={waiting.error} />
        <p>Go back to the marketplace and start there again, in this browser.</p>
        <div class="row">
          <LinkButton href="/app/">To the overview</LinkButton>
        </div>
      </Card>
    </Page>
  );
}

interface TakeProps {
  readonly signUp: string;
  readonly from: GetMarketplaceSignUpResponse;
}

function Take({ signUp, from }: TakeProps) {
  const { route } = useLocation();
  const owned = organizations.value.filter(({ permission }) => permission === 'OWNER');
  const [chosen, setChosen] = useState(owned[0]?.organization_id ?? '');
  const [name, setName] = useState('');
  const [isSetting, setIsSetting] = useState(true);
  const [onward, setOnward] = useState<string | null>(null);
  const { marketplace, account, account_id: accountId, installation_id: installationId } = from;
  const take = useDoing(async () => {
    const organizationId = chosen === '' ? (await addOrganization(name)).organization_id : chosen;
    // Should the rest fail, the next try must not found a second one.
    setChosen(organizationId);
    await loadSession();
    const bound = await bindMarketplace(signUp, organizationId, isSetting);
    const { subscription_tier: tier, bought_tier: bought, variables, next } = bound;
    await loadSession();
    chooseOrganization(organizationId);
    if (next !== null && variables === 'refused') return setOnward(next);
    if (next !== null) return window.location.assign(next);
    toast(
      tier === null || bought === null
        ? 'It is yours now.'
        : `Your organisation is on ${tierName(tier)} now.`,
    );
    return route('/app/', true);
  });
  if (onward !== null) return <Refused onward={onward} />;
  return (
    <Page
      title={`From ${names[marketplace]}`}
      lead="Say for which organisation it is. It stays with that one."
    >
      <Card>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            take.start();
          }}
        >
          <Organisation owned={owned} chosen={chosen} onChoose={setChosen} name={name} onName={setName} />
          {marketplace === 'aws' ? (
            <p class="hint">Bought by the AWS account {account}. Go on only if that is yours.</p>
          ) : (
            <>
              <p class="hint">
                Vercel names the account {accountId ?? 'unknown'} and the installation{' '}
                {installationId ?? 'unknown'}; compare both with its settings page there. Its owner chose the
                name “{account ?? 'a person'}”, so the name proves nothing.
              </p>
              <Check
                label="Set ZEROENTROPY_API_KEY and ZEROENTROPY_BASE_URL there"
                hint={`A new API key of the organisation goes to the projects of ${accountId ?? 'that account'} that were chosen at Vercel. Go on only if they are yours.`}
                checked={isSetting}
                onChange={setIsSetting}
              />
            </>
          )}
          <Trouble error={take.error} />
          <Button type="submit" tone="primary" busy={take.isBusy}>
            Take it
          </Button>
        </form>
      </Card>
    </Page>
  );
}

interface OrganisationProps {
  readonly owned: typeof organizations.value;
  /** Empty for a new one. */
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
  readonly name: string;
  readonly onName: (name: string) => void;
}

/** For which one it is. */
function Organisation({ owned, chosen, onChoose, name, onName }: OrganisationProps) {
  return (
    <>
      {owned.length > 0 && (
        <Field label="Organisation">
          {(field) => (
            <select {...field} value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
              {owned.map((each) => (
                <option key={each.organization_id} value={each.organization_id}>
                  {each.name}
                </option>
              ))}
              <option value="">A new one</option>
            </select>
          )}
        </Field>
      )}
      {chosen === '' && (
        <Field label="Name of the new organisation">
          {(field) => (
            <input
              {...field}
              required
              maxLength={255}
              value={name}
              onInput={(event) => onName(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
    </>
  );
}

/** It is theirs, but their projects do not know it. */
function Refused({ onward }: { readonly onward: string }) {
  return (
    <Page title="It is yours now">
      <Card>
        <p>
          Vercel did not let the integration set variables. Make an API key here and set ZEROENTROPY_API_KEY
          and ZEROENTROPY_BASE_URL in your projects yourself.
        </p>
        <div class="row">
          <LinkButton href="/app/keys">To the API keys</LinkButton>
          <LinkButton href={onward}>Back to Vercel</LinkButton>
        </div>
      </Card>
    </Page>
  );
}
