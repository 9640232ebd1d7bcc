import type { Settings } from '../config/schema.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { CertificateMonitor } from '../http/certificate-monitor.ts';
import { clock } from './runtime.ts';

const dayMs = 86_400_000;

interface CertificateDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Returns null without TLS. Errors: `unavailable` with the reason why the files are not usable. */
export async function openCertificates(
  { tlsCertificateFile, tlsKeyFile }: Settings,
  { metrics, ...dependencies }: CertificateDependencies,
): Promise<CertificateMonitor | null> {
  if (tlsCertificateFile === null || tlsKeyFile === null) return null;
  const files = { certificateFile: tlsCertificateFile, keyFile: tlsKeyFile };
  const certificates = await CertificateMonitor.open({ files, ...dependencies });
  metrics.gauge(
    {
      name: 'quarry_tls_certificate_expiry_timestamp_seconds',
      help: 'End of the validity of the TLS certificate in use, in seconds since the epoch.',
    },
    () => certificates.current.expiresAt / 1_000,
  );
  metrics.gauge(
    {
      name: 'quarry_tls_reload_failures',
      help: 'Changes of the TLS files since startup that left the previous certificate in use.',
    },
    () => certificates.failures,
  );
  return certificates;
}

/** Content of `/readyz` about TLS; null without it. A certificate that expires leaves the server ready. */
export function describeCertificate(
  certificates: CertificateMonitor | null,
): { ready: boolean; detail: string } | null {
  if (certificates === null) return null;
  const { current, lastError } = certificates;
  const remainingMs = current.expiresAt - clock.now();
  const time = toTimestamp(current.expiresAt);
  const validity =
    remainingMs <= 0
      ? `expired at ${time}`
      : `expires at ${time}, in ${Math.floor(remainingMs / dayMs)} days`;
  const detail = `certificate of ${current.names} ${validity}`;
  return {
    ready: remainingMs > 0 && lastError === null,
    detail: lastError === null ? detail : `${detail}; the changed files are not used: ${lastError}`,
  };
}
