import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { declarations, listOf, type Shape, sdkFolder, shapeOf } from './sdk-shapes.ts';

/** One thing that Stripe can be asked for, as the SDK asks for it. */
export interface Operation {
  /** The file and the method of the SDK: `Subscriptions.create`. */
  readonly name: string;
  readonly method: string;
  /** Path below `/v1/`; null where an id stands. */
  readonly segments: readonly (string | null)[];
  /** Null where it takes no parameters. */
  readonly parameters: Shape | null;
  readonly answer: Shape;
}

/** The files of the SDK whose operations the emulator knows, by how their paths begin. */
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

const known = new Map<string, readonly Operation[]>();

/** The operation of a request and the ids in its path; null where the SDK has none. */
export function operationOf(
  method: string,
  path: string,
): { operation: Operation; ids: readonly string[] } | null {
  const given = path
    .replace(/^\/v1\//, '')
    .split('/')
    .map(decodeURIComponent);
  const fits = ({ method: its, segments }: Operation) =>
    its === method &&
    segments.length === given.length &&
    segments.every((segment, index) => segment === null || segment === given[index]);
  const found = (resourceFiles[given[0]!] ?? []).flatMap(operationsIn).filter(fits);
  const literal = ({ segments }: Operation) => segments.filter((segment) => segment !== null).length;
  const [operation] = found.sort((one, other) => literal(other) - literal(one));
  if (operation === undefined) return null;
  return { operation, ids: given.filter((_, index) => operation.segments[index] === null) };
}

/** All operations that the emulator can be asked for. */
export function allOperations(): readonly Operation[] {
  return Object.values(resourceFiles).flat().flatMap(operationsIn);
}

function operationsIn(file: string): readonly Operation[] {
  const before = known.get(file);
  if (before !== undefined) return before;
  const requests = requestsIn(file);
  const scope = declarations(`resources/${file}`);
  const methods = scope.statements
    .filter(ts.isClassDeclaration)
    .flatMap(({ members }) => members.filter(ts.isMethodDeclaration));
  const operations = methods.flatMap((node): Operation[] => {
    const name = ts.isIdentifier(node.name) ? node.name.text : '';
    const request = requests.get(name);
    if (request === undefined || node.type === undefined) return [];
    const parameter = node.parameters.find(
      (one) => ts.isIdentifier(one.name) && one.name.text === 'params' && one.type !== undefined,
    );
    return [
      {
        name: `${file}.${name}`,
        ...request,
        parameters: parameter === undefined ? null : shapeOf(parameter.type!, scope),
        answer: answerOf(node.type, scope),
      },
    ];
  });
  known.set(file, operations);
  return operations;
}

/** `Promise<Response<X>>` is X, `ApiListPromise<X>` a list of X. */
function answerOf(type: ts.TypeNode, scope: ReturnType<typeof declarations>): Shape {
  if (!ts.isTypeReferenceNode(type) || !ts.isIdentifier(type.typeName)) return shapeOf(type, scope);
  const [inner] = type.typeArguments ?? [];
  const name = type.typeName.text;
  if (inner === undefined) return shapeOf(type, scope);
  if (name === 'ApiListPromise' || name === 'ApiSearchResultPromise') return listOf(shapeOf(inner, scope));
  return name === 'Promise' || name === 'Response' ? answerOf(inner, scope) : shapeOf(type, scope);
}

type Request = Pick<Operation, 'method' | 'segments'>;

/** What each method of the compiled code sends: `this._makeRequest('POST', '/v1/customers', ...)`. */
function requestsIn(file: string): Map<string, Request> {
  const text = readFileSync(join(sdkFolder, 'resources', `${file}.js`), 'utf8');
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
  const found = new Map<string, Request>();
  const visit = (node: ts.Node, method: string): void => {
    const inside = ts.isMethodDeclaration(node) && ts.isIdentifier(node.name) ? node.name.text : method;
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const [verb, path] = node.arguments;
      if (node.expression.name.text === '_makeRequest' && verb !== undefined && ts.isStringLiteral(verb)) {
        found.set(inside, { method: verb.text, segments: segmentsOf(path!) });
        return;
      }
    }
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(tree, '');
  return found;
}

function segmentsOf(path: ts.Expression): (string | null)[] {
  const text = ts.isTemplateExpression(path)
    ? path.head.text + path.templateSpans.map((span) => `{}${span.literal.text}`).join('')
    : (path as ts.StringLiteralLike).text;
  return text
    .replace(/^\/v1\//, '')
    .split('/')
    .map((segment) => (segment === '{}' ? null : segment));
}
