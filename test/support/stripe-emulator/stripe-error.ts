/** Error reply in Stripe's format. */
export class StripeApiError extends Error {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    about: {
      readonly status?: number;
      readonly type?: string;
      readonly code?: string;
      readonly param?: string;
      readonly [more: string]: unknown;
    } = {},
  ) {
    super(message);
    const { status = 400, type = 'invalid_request_error', ...rest } = about;
    this.status = status;
    this.body = { error: { type, message, ...rest } };
  }
}

export function missingObjectError(object: string, id: string): StripeApiError {
  const code = 'resource_missing';
  return new StripeApiError(`No such ${object.replace(/[._]/g, ' ')}: '${id}'`, {
    status: 404,
    code,
    param: 'id',
  });
}
