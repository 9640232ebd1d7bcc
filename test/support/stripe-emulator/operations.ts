import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type ts from 'typescript';
import { typescript } from '../typescript.ts';
import { declarations, listOf, parseSyntax, type Shape, sdkFolder, shapeOf } from './sdk-shapes.ts';

/** Operation of the Stripe API as declared by the SDK. */
export interface StripeOperation {
  /** File and method of the SDK: `Subscriptions.create`. */
  readonly name: string;
  readonly method: string;
  /** Path segments below `/v1/`; null is an id. */
  readonly segments: readonly (string | null)[];
  /** Null if the operation has no parameters. */
  readonly parameters: Shape | null;
  readonly replyShape: Shape;
}

/** SDK files with the operations that the emulator supports, by the first segment of the path. */
const resourceFiles: Readonly<Record<string, readonly string[]>> = {
  billing: [
    'Billing/Meters',
    'Billing/MeterEvents',
    'Billing/MeterEventAdjustments',
    'Billing/CreditGrants',
    'Billing/CreditBalanceSummary',
    'Billing/CreditBalanceTransactions',
  ],
  billing_portal: ['BillingPortal/Configurations', 'BillingPortal/Sessions'],
  charges: ['Charges'],
  checkout: ['Checkout/Sessions'],
  coupons: ['Coupons'],
  customers: ['Customers'],
  events: ['Events'],
  invoiceitems: ['InvoiceItems'],
  invoice_payments: ['InvoicePayments'],
  invoices: ['Invoices'],
  payment_intents: ['PaymentIntents'],
  payment_methods: ['PaymentMethods'],
  prices: ['Prices'],
  products: ['Products'],
  promotion_codes: ['PromotionCodes'],
  setup_intents: ['SetupIntents'],
  subscription_items: ['SubscriptionItems'],
  subscription_schedules: ['SubscriptionSchedules'],
  subscriptions: ['Subscriptions'],
  test_helpers: ['TestHelpers/TestClocks'],
  webhook_endpoints: ['WebhookEndpoints'],
};

const operationsByPrefix = new Map<string, readonly StripeOperation[]>();

/** Operation of a request and the ids in its path; null if the SDK has none. */
export function findOperation(
  method: string,
  path: string,
): { operation: StripeOperation; ids: readonly string[] } | null {
  const pathSegments = path
    .replace(/^\/v1\//, '')
    .split('/')
    .map(decodeURIComponent);
  const matches = ({ segments }: StripeOperation) =>
    segments.every((segment, index) => segment === null || segment === pathSegments[index]);
  const operation = operationsLike(method, pathSegments[0]!, pathSegments.length).find(matches);
  if (operation === undefined) return null;
  return { operation, ids: pathSegments.filter((_, index) => operation.segments[index] === null) };
}

const operationsByForm = new Map<string, readonly StripeOperation[]>();

/** Operations with this method, first segment and number of segments; those with the fewest ids first. */
function operationsLike(method: string, prefix: string, length: number): readonly StripeOperation[] {
  const form = `${method} ${prefix} ${length}`;
  const known = operationsByForm.get(form);
  if (known !== undefined) return known;
  const literalCount = ({ segments }: StripeOperation) =>
    segments.filter((segment) => segment !== null).length;
  const operations = (resourceFiles[prefix] ?? [])
    .flatMap(readOperations)
    .filter((one) => one.method === method && one.segments.length === length)
    .sort((one, other) => literalCount(other) - literalCount(one));
  operationsByForm.set(form, operations);
  return operations;
}

/** All operations supported by the emulator. */
export function allOperations(): readonly StripeOperation[] {
  return Object.values(resourceFiles).flat().flatMap(readOperations);
}

function readOperations(file: string): readonly StripeOperation[] {
  const before = operationsByPrefix.get(file);
  if (before !== undefined) return before;
  const requests = readRequests(file);
  const scope = declarations(`resources/${file}`);
  const methods = scope.statements
    .filter(typescript.isClassDeclaration)
    .flatMap(({ members }) => members.filter(typescript.isMethodDeclaration));
  const operations = methods.flatMap((node): StripeOperation[] => {
    const name = typescript.isIdentifier(node.name) ? node.name.text : '';
    const request = requests.get(name);
    if (request === undefined || node.type === undefined) return [];
    const parameter = node.parameters.find(
      (one) => typescript.isIdentifier(one.name) && one.name.text === 'params' && one.type !== undefined,
    );
    return [
      {
        name: `${file}.${name}`,
        ...request,
        parameters: parameter === undefined ? null : shapeOf(parameter.type!, scope),
        replyShape: replyShapeOf(node.type, scope),
      },
    ];
  });
  operationsByPrefix.set(file, operations);
  return operations;
}

/** `Promise<Response<X>>` is X; `ApiListPromise<X>` is a list of X. */
function replyShapeOf(type: ts.TypeNode, scope: ReturnType<typeof declarations>): Shape {
  if (!typescript.isTypeReferenceNode(type) || !typescript.isIdentifier(type.typeName))
    return shapeOf(type, scope);
  const [inner] = type.typeArguments ?? [];
  const name = type.typeName.text;
  if (inner === undefined) return shapeOf(type, scope);
  if (name === 'ApiListPromise' || name === 'ApiSearchResultPromise') return listOf(shapeOf(inner, scope));
  return name === 'Promise' || name === 'Response' ? replyShapeOf(inner, scope) : shapeOf(type, scope);
}

type SdkRequest = Pick<StripeOperation, 'method' | 'segments'>;

/** Reads the request of each method from the compiled SDK: `this._makeRequest('POST', '/v1/customers', ...)`. */
function readRequests(file: string): Map<string, SdkRequest> {
  const name = join(sdkFolder, 'resources', `${file}.js`);
  const tree = parseSyntax(name, readFileSync(name, 'utf8'));
  const found = new Map<string, SdkRequest>();
  const visit = (node: ts.Node, method: string): void => {
    const inside =
      typescript.isMethodDeclaration(node) && typescript.isIdentifier(node.name) ? node.name.text : method;
    if (typescript.isCallExpression(node) && typescript.isPropertyAccessExpression(node.expression)) {
      const [httpMethod, path] = node.arguments;
      if (
        node.expression.name.text === '_makeRequest' &&
        httpMethod !== undefined &&
        typescript.isStringLiteral(httpMethod)
      ) {
        found.set(inside, { method: httpMethod.text, segments: segmentsOf(path!) });
        return;
      }
    }
    typescript.forEachChild(node, (child) => visit(child, inside));
  };
  visit(tree, '');
  return found;
}

function segmentsOf(path: ts.Expression): (string | null)[] {
  const text = typescript.isTemplateExpression(path)
    ? path.head.text + path.templateSpans.map((span) => `{}${span.literal.text}`).join('')
    : (path as ts.StringLiteralLike).text;
  return text
    .replace(/^\/v1\//, '')
    .split('/')
    .map((segment) => (segment === '{}' ? null : segment));
}
