import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
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
  if (waiting.data !== undefined) return <Take signUp={signUp} from={waiting.data.marketplace} />;
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
  readonly from: keyof typeof names;
}

function Take({ signUp, from }: TakeProps) {
  const { route } = useLocation();
  const owned = organizations.value.filter(({ permission }) => permission === 'OWNER');
  const [chosen, setChosen] = useState(owned[0]?.organization_id ?? '');
  const [name, setName] = useState('');
  const take = useDoing(async () => {
    const organizationId = chosen === '' ? (await addOrganization(name)).organization_id : chosen;
    // Should the rest fail, the next try must not found a second one.
    setChosen(organizationId);
    await loadSession();
    const { subscription_tier: tier, next } = await bindMarketplace(signUp, organizationId);
    await loadSession();
    chooseOrganization(organizationId);
    if (next !== null) return window.location.assign(next);
    toast(tier === null ? 'It is yours now.' : `Your organisation is on ${tierName(tier)} now.`);
    return route('/app/', true);
  });
  return (
    <Page title={`From ${names[from]}`} lead="Say for which organisation it is. It stays with that one.">
      <Card>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            take.start();
          }}
        >
          {owned.length > 0 && (
            <Field label="Organisation">
              {(field) => (
                <select {...field} value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
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
                  onInput={(event) => setName(event.currentTarget.value)}
                />
              )}
            </Field>
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
