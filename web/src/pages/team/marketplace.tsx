import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { GetMarketplaceSignUpResponse } from '../../../../src/schemas/marketplaces.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { ErrorMessage } from '../../parts/error-message.tsx';
import { Checkbox, Field } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { useLoad } from '../../server/load.ts';
import { bindMarketplace, getMarketplaceSignUp } from '../../server/marketplace.ts';
import { loadSession, organizations, selectOrganization } from '../../server/session.ts';
import { addOrganization } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { tierName } from './tiers.ts';

const marketplaceNames = { aws: 'AWS Marketplace', vercel: 'Vercel' } as const;

/** Landing page for users from a marketplace: selects the organization to bind. */
export function MarketplacePage() {
  const { query } = useLocation();
  const signUp = query.sign_up ?? '';
  const pending = useLoad((abort) => getMarketplaceSignUp(signUp, abort), [signUp]);
  if (pending.data !== undefined) return <BindForm signUp={signUp} pending={pending.data} />;
  if (pending.error === null) {
    return (
      <Page title="From the marketplace">
        <SkeletonRows rows={3} />
      </Page>
    );
  }
  return (
    <Page title="Nothing waits here">
      <Card>
        <ErrorMessage error={pending.error} />
        <p>Go back to the marketplace and start there again, in this browser.</p>
        <div class="row">
          <LinkButton href="/app/">To the overview</LinkButton>
        </div>
      </Card>
    </Page>
  );
}

interface BindFormProps {
  readonly signUp: string;
  readonly pending: GetMarketplaceSignUpResponse;
}

function BindForm({ signUp, pending }: BindFormProps) {
  const { route } = useLocation();
  const owned = organizations.value.filter(({ permission }) => permission === 'OWNER');
  const [chosen, setChosen] = useState(owned[0]?.organization_id ?? '');
  const [name, setName] = useState('');
  const [setsVariables, setSetsVariables] = useState(true);
  const [continueUrl, setContinueUrl] = useState<string | null>(null);
  const bind = useAsyncAction(async () => {
    const organizationId = chosen === '' ? (await addOrganization(name)).organization_id : chosen;
    // If a later step fails, the retry must not create a second organization.
    setChosen(organizationId);
    await loadSession();
    const bound = await bindMarketplace(signUp, organizationId, setsVariables);
    const { subscription_tier: tier, bought_tier: bought, variables, next } = bound;
    await loadSession();
    selectOrganization(organizationId);
    if (next !== null && variables === 'refused') return setContinueUrl(next);
    if (next !== null) return window.location.assign(next);
    showToast(
      tier === null || bought === null
        ? 'It is yours now.'
        : `Your organisation is on ${tierName(tier)} now.`,
    );
    return route('/app/', true);
  });
  if (continueUrl !== null) return <VariablesRefused continueUrl={continueUrl} />;
  return (
    <Page
      title={`From ${marketplaceNames[pending.marketplace]}`}
      subtitle="Say for which organisation it is. It stays with that one."
    >
      <Card>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            bind.start();
          }}
        >
          <OrganizationFields
            owned={owned}
            chosen={chosen}
            onChoose={setChosen}
            name={name}
            onName={setName}
          />
          <ProviderNotice
            pending={pending}
            setsVariables={setsVariables}
            onSetsVariables={setSetsVariables}
          />
          <ErrorMessage error={bind.error} />
          <Button type="submit" tone="primary" busy={bind.isBusy}>
            Take it
          </Button>
        </form>
      </Card>
    </Page>
  );
}

interface ProviderNoticeProps {
  readonly pending: GetMarketplaceSignUpResponse;
  readonly setsVariables: boolean;
  readonly onSetsVariables: (setsVariables: boolean) => void;
}

function ProviderNotice({ pending, setsVariables, onSetsVariables }: ProviderNoticeProps) {
  const { marketplace, account, account_id: accountId, installation_id: installationId } = pending;
  if (marketplace === 'aws')
    return <p class="hint">Bought by the AWS account {account}. Go on only if that is yours.</p>;
  return (
    <>
      <p class="hint">
        {`Vercel names the account ${accountId ?? 'unknown'} and the installation ${installationId ?? 'unknown'}; compare both with its settings page there. Its owner chose the name “${account ?? 'a person'}”, so the name proves nothing.`}
      </p>
      <Checkbox
        label="Set ZEROENTROPY_API_KEY and ZEROENTROPY_BASE_URL there"
        hint={`A new API key of the organization goes to the projects of ${accountId ?? 'that account'} that were chosen at Vercel. Go on only if they are yours.`}
        checked={setsVariables}
        onChange={onSetsVariables}
      />
    </>
  );
}

interface OrganizationFieldsProps {
  readonly owned: typeof organizations.value;
  /** Empty for a new organization. */
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
  readonly name: string;
  readonly onName: (name: string) => void;
}

/** Fields that select an existing or a new organization. */
function OrganizationFields({ owned, chosen, onChoose, name, onName }: OrganizationFieldsProps) {
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

/** The organization is bound, but the marketplace did not accept the environment variables. */
function VariablesRefused({ continueUrl }: { readonly continueUrl: string }) {
  return (
    <Page title="It is yours now">
      <Card>
        <p>
          Vercel did not let the integration set variables. Make an API key here and set ZEROENTROPY_API_KEY
          and ZEROENTROPY_BASE_URL in your projects yourself.
        </p>
        <div class="row">
          <LinkButton href="/app/keys">To the API keys</LinkButton>
          <LinkButton href={continueUrl}>Back to Vercel</LinkButton>
        </div>
      </Card>
    </Page>
  );
}
