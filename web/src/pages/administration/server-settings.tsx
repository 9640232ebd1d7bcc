import { useState } from 'preact/hooks';
import type { GetSettingsResponse, SettingInfo } from '../../../../src/schemas/installation.ts';
import { Tag } from '../../components/chip.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Card } from '../../components/page.tsx';
import { SearchField } from '../../components/search-field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { adminGetSettings } from '../../server/administration.ts';
import { texts } from '../../texts/en/administration.ts';
import { fill } from '../../texts/format-text.ts';
import type { SectionProps } from './administration.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

type Selection = 'all' | 'changed';

const sourceNames: Readonly<Record<SettingInfo['source'], string>> = {
  default: texts.default,
  variable: texts.environment,
  flag: texts.flag,
  file: texts.file,
};

/** Settings in force, and where their values come from. */
export function ServerSettings({ onDenied }: SectionProps) {
  const list = useAdministratorLoad(adminGetSettings, [], onDenied);
  if (list.error !== null) return <LoadError error={list.error} onRetry={list.reload} />;
  if (list.data === undefined)
    return (
      <Card>
        <SkeletonRows rows={10} />
      </Card>
    );
  return <SettingList {...list.data} />;
}

function SettingList({ settings, file }: GetSettingsResponse) {
  const [searchText, setSearchText] = useState('');
  const [selection, setSelection] = useState<Selection>('all');
  const needle = searchText.trim().toLowerCase();
  const changed = settings.filter(({ source }) => source !== 'default');
  const found = (selection === 'all' ? settings : changed).filter(({ variable, meaning }) =>
    `${variable} ${meaning}`.toLowerCase().includes(needle),
  );
  const sections = [...new Set(found.map(({ section }) => section))];
  return (
    <>
      <div class="toolbar">
        <SearchField
          label={texts.searchSettings}
          hint={file === null ? texts.nameOrDescription : fill(texts.nameOrDescriptionSettingsFile, { file })}
          value={searchText}
          onInput={setSearchText}
        />
        <RadioGroup
          legend={texts.settingsToShow}
          name="settings"
          value={selection}
          options={[
            ['all', fill(texts.allLength, { length: formatCount(settings.length) })],
            ['changed', fill(texts.changedLength, { length: formatCount(changed.length) })],
          ]}
          onChange={setSelection}
        />
      </div>
      {sections.map((section) => (
        <Card key={section} title={section}>
          <Table
            caption={section}
            columns={columns}
            rows={found.filter((setting) => setting.section === section)}
            keyOf={({ variable }) => variable}
          />
        </Card>
      ))}
      {sections.length === 0 && (
        <EmptyState title={texts.noMatchingSettings}>{texts.aSettingIsChangedBy}</EmptyState>
      )}
    </>
  );
}

const columns: readonly TableColumn<SettingInfo>[] = [
  {
    title: texts.setting,
    cell: ({ variable, meaning }) => (
      <span class="user-cell">
        <code>{variable}</code>
        <span class="hint">{meaning}</span>
      </span>
    ),
  },
  { title: texts.value, width: '14rem', cell: (setting) => <Value setting={setting} /> },
  {
    title: texts.source,
    width: '7.5rem',
    cell: ({ source }) => <Tag tone={source === 'default' ? 'neutral' : 'info'}>{sourceNames[source]}</Tag>,
  },
];

function Value({ setting }: { readonly setting: SettingInfo }) {
  const { value, unit, is_secret: isSecret, is_set: isSet, default: fallback } = setting;
  if (!isSet) {
    const effect = typeof fallback === 'string' ? fallback.replace(/^none(: |$)/, '') : '';
    return <span class="muted">{effect === '' ? texts.notSet : fill(texts.notSetEffect, { effect })}</span>;
  }
  if (isSecret) return <span>{texts.setSecret}</span>;
  if (typeof value === 'number')
    return <span>{unit === 'bytes' ? formatBytes(value) : withUnit(value, unit)}</span>;
  return <code class="setting-value">{String(value)}</code>;
}

function withUnit(value: number, unit: string | null): string {
  return unit === null ? formatCount(value) : `${formatCount(value)} ${unit}`;
}
