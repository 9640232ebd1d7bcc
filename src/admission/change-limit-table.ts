import { changeLimits } from '../core/change-limits.ts';
import { fairShare, formatNumber, type LimitRow } from './limit-row.ts';

export const changeRows: readonly LimitRow[] = [
  {
    limit: 'Event streams of an organization',
    bounds: 'Open streams of `GET /v1/changes`',
    value: formatNumber(changeLimits.streamsPerOrganizationMax),
    enforcedIn: 'services/changes.ts streamsPerOrganizationMax',
    status: 429,
    header: 'change_streams',
    share: 'own allowance',
  },
  {
    limit: 'Event streams',
    bounds: 'Open streams of `GET /v1/changes` in total',
    value: formatNumber(changeLimits.streamsRunningMax),
    enforcedIn: 'app/changes.ts streamsRunningMax',
    status: 503,
    header: null,
    share: fairShare,
  },
];
