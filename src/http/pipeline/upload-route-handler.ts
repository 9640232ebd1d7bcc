import type { UploadPermit } from '../../admission/upload-limiter.ts';
import { assert } from '../../core/assert.ts';
import { limits } from '../../core/limits.ts';
import type { ServiceReply } from '../../services/call.ts';
import type { Reply } from '../exchange.ts';
import { MultipartForm } from '../multipart-form.ts';
import { BoundedBody, checkDeclaredBody } from '../read-body.ts';
import { jsonReply } from '../replies.ts';
import { toOrganizationCall } from '../routes/json-route.ts';
import type { UploadRoute } from '../routes/route.ts';
import type { OrganizationCall } from '../services.ts';
import { type DocumentUpload, parseFormUpload, parsePutUpload } from '../uploads.ts';
import { authenticate, authorize } from './authorization.ts';
import { metadataBytesMaxOf, parseQuery } from './body-fields.ts';
import { createServiceCall, ownerOf, type RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

/** Streams a document from the body to the service. */
export class UploadRouteHandler implements RouteHandler {
  readonly route: UploadRoute;
  readonly msMax = limits.uploadMsMax;
  readonly #context: RequestContext;
  readonly #params: Readonly<Record<string, string>>;
  #call: OrganizationCall | null = null;
  /** Null for `put`. */
  #form: MultipartForm | null = null;
  #upload: DocumentUpload | null = null;
  #reply: ServiceReply<unknown> | null = null;
  /** Held while the body arrives. */
  #permit: UploadPermit | null = null;

  constructor(context: RequestContext, route: UploadRoute, params: Readonly<Record<string, string>>) {
    this.route = route;
    this.#context = context;
    this.#params = params;
  }

  /** Reads a form up to its file. The service reads the file. */
  async readBody(): Promise<void> {
    const { exchange, components } = this.#context;
    this.#call = toOrganizationCall(createServiceCall(this.#context));
    checkDeclaredBody(exchange, components.options.settings.uploadBytesMax);
    if (this.route.kind === 'put') return;
    this.#form = new MultipartForm(exchange.header('content-type'), this.#chunks());
    await this.#form.readFields();
  }

  validate(): void {
    const { exchange } = this.#context;
    const metadataBytesMax = metadataBytesMaxOf(this.#context);
    if (this.#form !== null) {
      this.#upload = parseFormUpload(this.#form, metadataBytesMax);
      return;
    }
    const metadata = exchange.header('x-quarry-metadata');
    const source = { params: this.#params, query: parseQuery(exchange), metadata };
    this.#upload = { parameters: parsePutUpload(source, metadataBytesMax), body: this.#chunks() };
  }

  async callService(): Promise<void> {
    assert(this.#call && this.#upload, 'validate has set the upload');
    const { parameters, body } = this.#upload;
    this.#reply = await this.#context.components.options.services.uploads.uploadDocument(
      this.#call,
      parameters,
      body,
    );
  }

  renderReply(): Reply {
    assert(this.#reply, 'callService has set the reply');
    return jsonReply(this.#reply.status, this.#reply.body);
  }

  /** Yields the body. The deadline of an ordinary call starts when the body is complete. */
  async *#chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const { exchange, deadline, components } = this.#context;
    const { options, uploads } = components;
    const permit = uploads.acquire(ownerOf(this.#context), (error) => deadline.abort(error));
    this.#permit = permit;
    exchange.body.lengthen();
    try {
      const { clock } = options;
      let checkedAt = clock.monotonic();
      for await (const chunk of this.#openBody().chunks()) {
        permit.touch();
        if (clock.monotonic() - checkedAt >= limits.uploadRecheckMs) {
          this.#authorizeAgain();
          checkedAt = clock.monotonic();
        }
        yield chunk;
      }
      this.#authorizeAgain();
    } finally {
      permit.release();
    }
    deadline.start(options.settings.requestMsMax);
  }

  #openBody(): BoundedBody {
    const { exchange, components } = this.#context;
    const { settings, clock } = components.options;
    const minimumThroughput = {
      bytesPerSecondMin: limits.uploadBytesPerSecondMin,
      windowMs: limits.uploadRateWindowMs,
      bytesMin: 0,
    };
    const bounds = { bytesMax: settings.uploadBytesMax, idleMsMax: settings.bodyIdleMsMax };
    return new BoundedBody(exchange, { ...bounds, msMax: limits.uploadMsMax, minimumThroughput }, clock);
  }

  /** An upload may take an hour; it ends when its key is deleted. */
  #authorizeAgain(): void {
    authenticate(this.#context);
    authorize(this.#context);
  }

  /** A service that rejects a form may not read its file, so the generator may never end on its own. */
  release(): void {
    this.#permit?.release();
  }
}
