import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { GetMarketplaceSignUpResponse } from '../../../../src/schemas/marketplaces.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Checkbox, Field } from '../../components/field.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useLoad } from '../../server/load.ts';
import { bindMarketplace, getMarketplaceSignUp } from '../../server/marketplace.ts';
import { loadSession, organizations, selectOrganization } from '../../server/session.ts';
import { addOrganization } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/billing.ts';
import { fill } from '../../texts/format-text.ts';
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
      <Page title={texts.marketplaceSignUp}>
        <SkeletonRows rows={3} />
      </Page>
    );
  }
  return (
    <Page title={texts.signUpNotFound}>
      <Card>
        <ErrorMessage error={pending.error} />
        <p>{texts.startAgainFromTheMarketplace}</p>
        <div class="row">
          <LinkButton href="/app/">{texts.goToOverview}</LinkButton>
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
  const ownedOrganizations = organizations.value.filter(({ permission }) => permission === 'OWNER');
  const [selectedId, setSelectedId] = useState(ownedOrganizations[0]?.organization_id ?? '');
  const [name, setName] = useState('');
  const [isSettingVariables, setSettingVariables] = useState(true);
  const [continueUrl, setContinueUrl] = useState<string | null>(null);
  const bind = useAsyncAction(async () => {
    const organizationId = selectedId === '' ? (await addOrganization(name)).organization_id : selectedId;
    // If a later step fails, the retry must not create a second organization.
    setSelectedId(organizationId);
    await loadSession();
    const binding = await bindMarketplace(signUp, organizationId, isSettingVariables);
    const { subscription_tier: tier, bought_tier: boughtTier, variables, next } = binding;
    await loadSession();
    selectOrganization(organizationId);
    if (next !== null && variables === 'refused') return setContinueUrl(next);
    if (next !== null) return window.location.assign(next);
    showToast(
      tier === null || boughtTier === null
        ? texts.organizationLinked
        : fill(texts.yourPlanIsNowTier, { tier: tierName(tier) }),
    );
    return route('/app/', true);
  });
  if (continueUrl !== null) return <VariablesRejected continueUrl={continueUrl} />;
  return (
    <Page
      title={fill(texts.linkMarketplace, { marketplace: marketplaceNames[pending.marketplace] })}
      subtitle={texts.chooseTheOrganizationToLink}
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
            ownedOrganizations={ownedOrganizations}
            selectedId={selectedId}
            onChoose={setSelectedId}
            name={name}
            onName={setName}
          />
          <ProviderNotice
            pending={pending}
            isSettingVariables={isSettingVariables}
            onSettingVariablesChange={setSettingVariables}
          />
          <ErrorMessage error={bind.error} />
          <Button type="submit" tone="primary" busy={bind.isBusy}>
            {texts.linkToOrganization}
          </Button>
        </form>
      </Card>
    </Page>
  );
}

interface ProviderNoticeProps {
  readonly pending: GetMarketplaceSignUpResponse;
  readonly isSettingVariables: boolean;
  readonly onSettingVariablesChange: (isSettingVariables: boolean) => void;
}

function ProviderNotice({ pending, isSettingVariables, onSettingVariablesChange }: ProviderNoticeProps) {
  const { marketplace, account, account_id: accountId, installation_id: installationId } = pending;
  if (marketplace === 'aws')
    return <p class="hint">{fill(texts.purchasedByAwsAccountAccount, { account: account ?? '' })}</p>;
  return (
    <>
      <p class="hint">
        {fill(texts.vercelAccountAccountIdInstallationInstallationId, {
          accountId: accountId ?? texts.unknown,
          installationId: installationId ?? texts.unknown,
          account: account ?? texts.unknown,
        })}
      </p>
      <Checkbox
        label={texts.setZeroentropyApiKeyAnd}
        hint={fill(texts.aNewApiKeyOf, { accountId: accountId ?? texts.thisAccount })}
        checked={isSettingVariables}
        onChange={onSettingVariablesChange}
      />
    </>
  );
}

interface OrganizationFieldsProps {
  readonly ownedOrganizations: typeof organizations.value;
  /** Empty for a new organization. */
  readonly selectedId: string;
  readonly onChoose: (id: string) => void;
  readonly name: string;
  readonly onName: (name: string) => void;
}

/** Fields that select an existing or a new organization. */
function OrganizationFields({
  ownedOrganizations,
  selectedId,
  onChoose,
  name,
  onName,
}: OrganizationFieldsProps) {
  return (
    <>
      {ownedOrganizations.length > 0 && (
        <Field label={texts.organization}>
          {(field) => (
            <select {...field} value={selectedId} onChange={(event) => onChoose(event.currentTarget.value)}>
              {ownedOrganizations.map((each) => (
                <option key={each.organization_id} value={each.organization_id}>
                  {each.name}
                </option>
              ))}
              <option value="">{texts.newOrganization}</option>
            </select>
          )}
        </Field>
      )}
      {selectedId === '' && (
        <TextField
          label={texts.nameOfTheNewOrganization}
          required
          maxLength={255}
          value={name}
          onChange={onName}
        />
      )}
    </>
  );
}

/** The organization is bound, but the marketplace did not accept the environment variables. */
function VariablesRejected({ continueUrl }: { readonly continueUrl: string }) {
  return (
    <Page title={texts.organizationLinked2}>
      <Card>
        <p>{texts.vercelRejectedTheEnvironmentVariables}</p>
        <div class="row">
          <LinkButton href="/app/keys">{texts.goToApiKeys}</LinkButton>
          <LinkButton href={continueUrl}>{texts.backToVercel}</LinkButton>
        </div>
      </Card>
    </Page>
  );
}
