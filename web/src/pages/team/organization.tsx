import { useEffect, useState } from 'preact/hooks';
import type { OrganizationInfo } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Field } from '../../parts/field.tsx';
import { Meter } from '../../parts/meter.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Pending } from '../../parts/skeleton.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded, Trouble } from '../../parts/trouble.tsx';
import { useDoing } from '../../server/doing.ts';
import { useLoad } from '../../server/load.ts';
import { loadSession, organization } from '../../server/session.ts';
import { deleteOrganization, getOrganization, renameOrganization } from '../../server/team.ts';
import { bytes, count } from '../../words/numbers.ts';
import { day } from '../../words/times.ts';
import { mayAs } from './roles.tsx';
import { tierName } from './tiers.ts';

/** The organisation itself: its name, its limits, its end. */
export function OrganizationPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const about = info.data?.organization;
  const owns = mayAs('OWNER');
  if (info.error !== null && about === undefined) {
    return (
      <Page title="Organisation">
        <NotLoaded error={info.error} onRetry={info.reload} />
      </Page>
    );
  }
  return (
    <Page title="Organisation" lead={organization.value?.name}>
      <Card title="General">
        <Rename isAllowed={owns} />
        <Facts
          facts={[
            [
              'Id',
              <span key="id" class="row">
                <code>{organization.value?.organization_id}</code>
                <Copy text={organization.value?.organization_id ?? ''} label="Copy id" />
              </span>,
            ],
            ['Plan', <Pending key="plan" value={about && tierName(about.subscription_tier)} width="8ch" />],
            ['Created', <Pending key="day" value={about && day(about.created_at)} width="12ch" />],
            [
              'Zero data retention',
              <Pending
                key="zdr"
                value={about && (about.zdr ? 'On: no text of it reaches a log' : 'Off')}
                width="8ch"
              />,
            ],
          ]}
        />
      </Card>
      <Card title="Limits">
        <Limits storage={about?.storage} limits={about?.rate_limits} />
      </Card>
      {owns && <Danger />}
    </Page>
  );
}

function Rename({ isAllowed }: { readonly isAllowed: boolean }) {
  const current = organization.value?.name ?? '';
  const [name, setName] = useState(current);
  useEffect(() => setName(current), [current]);
  const rename = useDoing(async () => {
    await renameOrganization(name.trim());
    await loadSession();
    toast('The organisation has its new name.');
  });
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        rename.start();
      }}
    >
      <Field label="Name" {...(isAllowed ? {} : { hint: 'Owners can change it.' })}>
        {(control) => (
          <input
            {...control}
            type="text"
            required
            maxLength={255}
            disabled={!isAllowed}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      <Trouble error={rename.error} />
      {isAllowed && (
        <Button type="submit" busy={rename.isBusy} disabled={name.trim() === current || name.trim() === ''}>
          Save
        </Button>
      )}
    </form>
  );
}

interface LimitsProps {
  readonly storage: OrganizationInfo['storage'] | undefined;
  readonly limits: OrganizationInfo['rate_limits'] | undefined;
}

/** Each in its place from the beginning; undefined while they load. */
function Limits({ storage, limits }: LimitsProps) {
  const perMinute: readonly (readonly [string, number | null | undefined, (value: number) => string])[] = [
    ['Requests', limits?.requests_per_minute, count],
    ['Queries', limits?.queries_per_minute, count],
    ['Fast rerank calls', limits?.rpm, count],
    ['Documents coming in', limits?.document_bytes_per_minute, bytes],
    ['Fast model calls', limits?.bpm_fast, bytes],
    ['Slow model calls', limits?.bpm_slow, bytes],
  ];
  const words = (most: number | null, format: (value: number) => string) =>
    most === null ? 'No limit' : format(most);
  return (
    <>
      <div class="meters">
        <Meter label="Documents" value={storage?.documents} most={limits?.max_documents} format={count} />
        <Meter label="Storage" value={storage?.bytes} most={limits?.max_storage_bytes} format={bytes} />
        <Meter
          label="Waiting to be indexed"
          value={storage?.ingest_documents}
          most={limits?.max_ingest_documents}
          format={count}
        />
      </div>
      <Facts
        facts={perMinute.map(([what, most, format]) => [
          `${what} a minute`,
          <Pending key={what} value={most === undefined ? undefined : words(most, format)} width="5rem" />,
        ])}
      />
    </>
  );
}

function Danger() {
  const [isAsked, setAsked] = useState(false);
  const name = organization.value?.name ?? '';
  return (
    <section class="card danger-zone">
      <header>
        <h2>Danger zone</h2>
      </header>
      <div class="row between">
        <div>
          <strong>Delete this organisation</strong>
          <p class="hint">
            Its keys stop working at once; its collections and documents are deleted for good.
          </p>
        </div>
        <Button tone="danger" onClick={() => setAsked(true)}>
          Delete organisation
        </Button>
      </div>
      {isAsked && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete organisation"
          typed={name}
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await deleteOrganization(name);
            await loadSession();
            toast(`${name} was deleted.`);
          }}
        >
          <p>
            Everybody loses access, every API key stops working, and all collections, documents and usage
            figures are deleted. Nobody can undo this.
          </p>
        </Confirm>
      )}
    </section>
  );
}
