import { limits } from '../core/limits.ts';
import type { Certificate } from './certificate.ts';
import type { UwsApp, UwsLibrary } from './uws-library.ts';

/** The server of one certificate. */
interface CertificateApp {
  readonly app: UwsApp;
  connections: number;
}

/**
 * HTTPS server on uWebSockets.js whose certificate can be replaced. The library cannot change the certificate of a
 * server; but a server may pass its accepted connections on to another one (which exists for worker threads). So the
 * acceptor only listens, and passes each connection to the server of the current certificate. A replaced server keeps
 * its connections until they end. TLS 1.2 is the minimum of the library.
 */
export class UwsTlsApps {
  readonly acceptor: UwsApp;
  readonly #library: UwsLibrary;
  readonly #addRoutes: (app: UwsApp) => void;
  #current: CertificateApp;
  /** Oldest first. */
  readonly #replaced: CertificateApp[] = [];

  /** Errors: Error if the library does not accept the files. */
  constructor(library: UwsLibrary, certificate: Certificate, addRoutes: (app: UwsApp) => void) {
    this.#library = library;
    this.#addRoutes = addRoutes;
    this.#current = this.#createApp(certificate);
    this.acceptor = library.SSLApp({});
    this.acceptor.addChildAppDescriptor(this.#current.app.getDescriptor());
  }

  /** New connections get this certificate. Errors: Error if the library does not accept the files. */
  replaceCertificate(certificate: Certificate): void {
    const replaced = this.#current;
    this.#current = this.#createApp(certificate);
    this.acceptor.addChildAppDescriptor(this.#current.app.getDescriptor());
    this.acceptor.removeChildAppDescriptor(replaced.app.getDescriptor());
    this.#replaced.push(replaced);
    if (this.#replaced.length > limits.replacedCertificatesMax) this.#replaced.shift()?.app.close();
  }

  /** Ends all connections. */
  close(): void {
    this.acceptor.close();
    for (const { app } of [...this.#replaced.splice(0), this.#current]) app.close();
  }

  #createApp({ files }: Certificate): CertificateApp {
    const app = this.#library.SSLApp({ cert_file_name: files.certificateFile, key_file_name: files.keyFile });
    this.#addRoutes(app);
    const certificateApp: CertificateApp = { app, connections: 0 };
    const countConnection = (_: unknown, change: number): void => {
      certificateApp.connections += change;
      if (certificateApp.connections === 0) this.#forgetReplaced(certificateApp);
    };
    app.filter(countConnection);
    return certificateApp;
  }

  #forgetReplaced(certificateApp: CertificateApp): void {
    const index = this.#replaced.indexOf(certificateApp);
    if (index >= 0) this.#replaced.splice(index, 1);
  }
}
