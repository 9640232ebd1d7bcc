import type { Services } from '../../src/http/services.ts';

/** Services about the whole installation with small replies of the documented shape. */
export const fakeInstallation: Services['installation'] = {
  getHealth: async () => ({
    state: 'ok',
    checks: [{ check: 'disk', state: 'ok', detail: '1 GB free', advice: null }],
    components: [{ component: 'store', is_ready: true, detail: '' }],
    version: '0.1.0',
    node_version: '20.19.0',
    http_server: 'node',
    started_at: '2026-01-01T00:00:00.000Z',
    memory_used_bytes: 1,
    memory_max_bytes: 2,
    disk_free_bytes: 1,
    disk_reserve_bytes: 0,
    waiting_documents: 0,
  }),
  getSettings: async () => ({ settings: [], file: null }),
  getLogLines: async () => ({ lines: [], next_cursor: 'x-0', is_truncated: false }),
};
