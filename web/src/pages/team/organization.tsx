import { useEffect, useState } from 'preact/hooks';
import type { OrganizationInfo } from '../../../../src/schemas/accounts.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyIcon } from '../../components/copy-button.tsx';
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
import { texts } from '../../texts/en/team.ts';
import { fill } from '../../texts/format-text.ts';
import { hasRole } from './roles.tsx';
import { tierName } from './tiers.ts';

/** Page of the organization: name, limits, deletion. */
export function OrganizationPage() {
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  const details = info.data?.organization;
  const isOwner = hasRole('OWNER');
  if (info.error !== null && details === undefined) {
    return (
      <Page title={texts.organization}>
        <LoadError error={info.error} onRetry={info.reload} />
      </Page>
    );
  }
  return (
    <Page title={texts.organization} subtitle={organization.value?.name}>
      <Card title={texts.general}>
        <Rename isAllowed={isOwner} />
        <DescriptionList
          facts={[
            [
              'ID',
              <span key="id" class="id-value">
                <code>{organization.value?.organization_id}</code>
                <CopyIcon text={organization.value?.organization_id ?? ''} label={texts.copyId} />
              </span>,
            ],
            [
              texts.plan,
              <LoadingText key="plan" value={details && tierName(details.subscription_tier)} width="8ch" />,
            ],
            [
              texts.created,
              <LoadingText key="day" value={details && formatDate(details.created_at)} width="12ch" />,
            ],
            [
              texts.zeroDataRetention,
              <LoadingText
                key="zdr"
                value={details && (details.zdr ? texts.onContentIsNotLogged : texts.off)}
                width="8ch"
              />,
            ],
          ]}
        />
      </Card>
      <Card title={texts.limits}>
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
    showToast(texts.organizationRenamed);
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
        label={texts.name}
        {...(isAllowed ? {} : { hint: texts.onlyOwnersCanChangeThe })}
        required
        maxLength={255}
        disabled={!isAllowed}
        value={name}
        onChange={setName}
      />
      <ErrorMessage error={rename.error} />
      {isAllowed && (
        <Button type="submit" busy={rename.isBusy} disabled={name.trim() === current || name.trim() === ''}>
          {texts.save}
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
    [texts.requests, limits?.requests_per_minute, formatCount],
    [texts.queries, limits?.queries_per_minute, formatCount],
    [texts.fastRerankCalls, limits?.rpm, formatCount],
    [texts.uploadedDocuments, limits?.document_bytes_per_minute, formatBytes],
    [texts.fastModelInput, limits?.bpm_fast, formatBytes],
    [texts.slowModelInput, limits?.bpm_slow, formatBytes],
  ];
  const label = (max: number | null, format: (value: number) => string) =>
    max === null ? texts.noLimit : format(max);
  return (
    <>
      <div class="meters">
        <Meter
          label={texts.documents}
          value={storage?.documents}
          max={limits?.max_documents}
          format={formatCount}
        />
        <Meter
          label={texts.storage}
          value={storage?.bytes}
          max={limits?.max_storage_bytes}
          format={formatBytes}
        />
        <Meter
          label={texts.waitingToBeIndexed}
          value={storage?.ingest_documents}
          max={limits?.max_ingest_documents}
          format={formatCount}
        />
      </div>
      <DescriptionList
        facts={perMinute.map(([name, max, format]) => [
          fill(texts.namePerMinute, { name }),
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
        <h2>{texts.dangerZone}</h2>
      </header>
      <div class="row between">
        <div>
          <strong>{texts.deleteThisOrganization}</strong>
          <p class="hint">{texts.apiKeysStopWorkingImmediately}</p>
        </div>
        <Button tone="danger" onClick={() => setConfirming(true)}>
          {texts.deleteOrganization}
        </Button>
      </div>
      {isConfirming && (
        <ConfirmDialog
          title={fill(texts.deleteName, { name })}
          action={texts.deleteOrganization}
          requiredText={name}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await deleteOrganization(name);
            await loadSession();
            showToast(fill(texts.nameWasDeleted, { name }));
          }}
        >
          <p>{texts.allMembersLoseAccessAll}</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
