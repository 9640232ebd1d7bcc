import { Egress } from '../src/egress/egress.ts';

/** Egress for tests with local servers: permits every port of this machine. */
export const localEgress = new Egress({
  mode: 'configured',
  hosts: ['127.0.0.1', 'localhost', '::1'].map((host) => ({ host, port: null, purpose: 'tests' })),
});
