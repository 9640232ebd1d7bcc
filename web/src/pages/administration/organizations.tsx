import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Tag } from '../../components/chip.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Field } from '../../components/field.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SearchField } from '../../components/search-field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import {
  adminListOrganizations,
  type OrganizationList,
  type OrganizationListItem,
} from '../../server/administration.ts';
import { texts } from '../../texts/en/administration.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { tierName } from '../team/tiers.ts';
import type { SectionProps } from './administration.tsx';
import { OrganizationDialog } from './organization-dialog.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

const shownMax = 200;

const orders = {
  created: { name: texts.newest, compare: () => 0 },
  documents: { name: texts.mostDocuments, compare: descending((storage) => storage?.documents) },
  bytes: { name: texts.largest, compare: descending((storage) => storage?.bytes) },
  queue: { name: texts.longestQueue, compare: descending((storage) => storage?.ingest_documents) },
} as const;
type Order = keyof typeof orders;

function descending(read: (storage: OrganizationListItem['storage']) => number | undefined) {
  return (a: OrganizationListItem, b: OrganizationListItem) =>
    (read(b.storage) ?? 0) - (read(a.storage) ?? 0);
}

/** All organizations with their storage. */
export function Organizations({ onDenied }: SectionProps) {
  const list = useAdministratorLoad(adminListOrganizations, [], onDenied);
  if (list.error !== null) return <LoadError error={list.error} onRetry={list.reload} />;
  return <OrganizationCard all={list.data} onChanged={list.reload} />;
}

interface OrganizationCardProps {
  /** Undefined while loading. */
  readonly all: OrganizationList | undefined;
  readonly onChanged: () => void;
}

function OrganizationCard({ all, onChanged }: OrganizationCardProps) {
  const [searchText, setSearchText] = useState('');
  const [order, setOrder] = useState<Order>('created');
  const [open, setOpen] = useState<OrganizationListItem | null>(null);
  const needle = searchText.trim().toLowerCase();
  const found = (all?.organizations ?? [])
    .filter(
      ({ name, organization_id }) =>
        name.toLowerCase().includes(needle) || organization_id.startsWith(needle),
    )
    .sort(orders[order].compare);
  return (
    <Card>
      <div class="toolbar">
        <SearchField
          label={texts.searchOrganizations}
          hint={texts.nameOrStartOfThe}
          value={searchText}
          onInput={setSearchText}
        />
        <Field label={texts.sortBy}>
          {(control) => (
            <select
              {...control}
              value={order}
              onChange={(event) => setOrder(event.currentTarget.value as Order)}
            >
              {Object.entries(orders).map(([id, { name }]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p class="toolbar-count">{all && counted(texts.countOrganizations, all.organizations.length)}</p>
      </div>
      {all === undefined ? (
        <SkeletonRows rows={4} />
      ) : found.length === 0 ? (
        <p class="empty-note">{texts.noMatchingOrganizations}</p>
      ) : (
        <Table
          caption={texts.organizations}
          columns={columnsFor(setOpen)}
          rows={found.slice(0, shownMax)}
          keyOf={({ organization_id }) => organization_id}
        />
      )}
      {found.length > shownMax && (
        <p class="empty-note">
          {fill(texts.lengthMoreOrganizationsRefineThe, { length: formatCount(found.length - shownMax) })}
        </p>
      )}
      {all?.isComplete === false && <p class="empty-note">{texts.thisListIsIncompleteUse}</p>}
      {open !== null && (
        <OrganizationDialog id={open.organization_id} onClose={() => setOpen(null)} onChanged={onChanged} />
      )}
    </Card>
  );
}

function columnsFor(onOpen: (row: OrganizationListItem) => void): TableColumn<OrganizationListItem>[] {
  return [
    {
      title: texts.organization,
      cell: ({ name, organization_id }) => (
        <span class="user-cell">
          <strong>{name}</strong>
          {name !== organization_id && <code class="hint">{organization_id}</code>}
        </span>
      ),
    },
    {
      title: texts.plan,
      cell: ({ subscription_tier, overridden, zdr }) => (
        <span class="chips">
          <Tag>{tierName(subscription_tier)}</Tag>
          {overridden && <Tag>{texts.overrides}</Tag>}
          {zdr && <Tag>{texts.zeroRetention}</Tag>}
        </span>
      ),
    },
    { title: texts.documents, isNumber: true, cell: ({ storage }) => formatCount(storage?.documents ?? 0) },
    { title: texts.size, isNumber: true, cell: ({ storage }) => formatBytes(storage?.bytes ?? 0) },
    {
      title: texts.queue,
      isNumber: true,
      cell: ({ storage }) => formatCount(storage?.ingest_documents ?? 0),
    },
    { title: texts.created, cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: (row) => (
        <Button
          tone="ghost"
          aria-label={fill(texts.openName, { name: row.name })}
          onClick={() => onOpen(row)}
        >
          {texts.open}
        </Button>
      ),
    },
  ];
}
