import { useEffect, useState } from 'preact/hooks';
import type { OrganizationInfo } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { DescriptionList } from '../../components/description-list.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Meter } from '../../components/meter.tsx';
import { Card, Page } from '../../components/page.tsx';
import { LoadingText } from '../../components/skeleton.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { formatDate } from '../../format/times.ts';
import { useLoad } from '../../server/load.ts';
import { loadSession, organization } from '../../server/session.ts';
import { deleteOrganization, getOrganization, renameOrganization } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { hasRole } from './roles.tsx';
import { tierName } from './tiers.ts';

/** Page of the organization: name, limits, deletion. */
export function OrganizationPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const details = info.data?.organization;
  const isOwner = hasRole('OWNER');
  if (info.error !== null && details === undefined) {
    return (
      <Page title="Organization">
        <LoadError error={info.error} onRetry={info.reload} />
      </Page>
    );
  }
  return (
    <Page title="Organization" subtitle={organization.value?.name}>
      <Card title="General">
        <Rename isAllowed={isOwner} />
        <DescriptionList
          facts={[
            [
              'ID',
              <span key="id" class="row">
                <code>{organization.value?.organization_id}</code>
                <CopyButton text={organization.value?.organization_id ?? ''} label="Copy ID" />
              </span>,
            ],
            [
              'Plan',
              <LoadingText key="plan" value={details && tierName(details.subscription_tier)} width="8ch" />,
            ],
            [
              'Created',
              <LoadingText key="day" value={details && formatDate(details.created_at)} width="12ch" />,
            ],
            [
              'Zero data retention',
              <LoadingText
                key="zdr"
                value={details && (details.zdr ? 'On: content is not logged' : 'Off')}
                width="8ch"
              />,
            ],
          ]}
        />
      </Card>
      <Card title="Limits">
        <Limits storage={details?.storage} limits={details?.rate_limits} />
      </Card>
      {isOwner && <DangerZone />}
    </Page>
  );
}

function Rename({ isAllowed }: { readonly isAllowed: boolean }) {
  const current = organization.value?.name ?? '';
  const [name, setName] = useState(current);
  useEffect(() => setName(current), [current]);
  const rename = useAsyncAction(async () => {
    await renameOrganization(name.trim());
    await loadSession();
    showToast('Organization renamed.');
  });
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        rename.start();
      }}
    >
      <TextField
        label="Name"
        {...(isAllowed ? {} : { hint: 'Only owners can change the name.' })}
        required
        maxLength={255}
        disabled={!isAllowed}
        value={name}
        onChange={setName}
      />
      <ErrorMessage error={rename.error} />
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

/** Limits of the organization, with fixed positions while they load; undefined values are loading. */
function Limits({ storage, limits }: LimitsProps) {
  const perMinute: readonly (readonly [string, number | null | undefined, (value: number) => string])[] = [
    ['Requests', limits?.requests_per_minute, formatCount],
    ['Queries', limits?.queries_per_minute, formatCount],
    ['Fast rerank calls', limits?.rpm, formatCount],
    ['Uploaded documents', limits?.document_bytes_per_minute, formatBytes],
    ['Fast model input', limits?.bpm_fast, formatBytes],
    ['Slow model input', limits?.bpm_slow, formatBytes],
  ];
  const label = (max: number | null, format: (value: number) => string) =>
    max === null ? 'No limit' : format(max);
  return (
    <>
      <div class="meters">
        <Meter
          label="Documents"
          value={storage?.documents}
          max={limits?.max_documents}
          format={formatCount}
        />
        <Meter label="Storage" value={storage?.bytes} max={limits?.max_storage_bytes} format={formatBytes} />
        <Meter
          label="Waiting to be indexed"
          value={storage?.ingest_documents}
          max={limits?.max_ingest_documents}
          format={formatCount}
        />
      </div>
      <DescriptionList
        facts={perMinute.map(([name, max, format]) => [
          `${name} per minute`,
          <LoadingText key={name} value={max === undefined ? undefined : label(max, format)} width="5rem" />,
        ])}
      />
    </>
  );
}

function DangerZone() {
  const [isConfirming, setConfirming] = useState(false);
  const name = organization.value?.name ?? '';
  return (
    <section class="card danger-zone">
      <header>
        <h2>Danger zone</h2>
      </header>
      <div class="row between">
        <div>
          <strong>Delete this organization</strong>
          <p class="hint">
            API keys stop working immediately. All collections and documents are deleted permanently.
          </p>
        </div>
        <Button tone="danger" onClick={() => setConfirming(true)}>
          Delete organization
        </Button>
      </div>
      {isConfirming && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          action="Delete organization"
          requiredText={name}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await deleteOrganization(name);
            await loadSession();
            showToast(`${name} was deleted.`);
          }}
        >
          <p>
            All members lose access, all API keys stop working, and all collections, documents and usage data
            are deleted. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}
