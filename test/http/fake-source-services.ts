import type { Services } from '../../src/http/services.ts';
import type { SourceInfo } from '../../src/schemas/sources.ts';

const counts = { added: 0, updated: 0, deleted: 0, unchanged: 0, failed: 0 };

const source: SourceInfo = {
  source_name: 's',
  collection_name: 'a',
  kind: 'directory',
  directory: { path: '/srv/s' },
  prefix: '',
  schedule: '1h',
  watch: false,
  watch_error: null,
  metadata: {},
  has_credentials: false,
  state: 'idle',
  running: null,
  last_run: null,
  last_success_at: null,
  next_run_at: null,
  created_at: '2026-11-21T00:00:00.000Z',
};

export const fakeSources: Services['sources'] = {
  addSource: async () => ({}),
  updateSource: async () => ({}),
  deleteSource: async () => ({}),
  pauseSource: async () => ({}),
  resumeSource: async () => ({}),
  getSource: async () => ({ source }),
  getSourceList: async () => ({ sources: [source] }),
  syncSource: async () => ({ source }),
  previewSource: async () => ({ counts, changes: [], is_complete: true }),
  getSourceItemList: async () => ({ items: [], next_key_gt: null }),
  deleteAllOfOrganization: async () => {},
};
