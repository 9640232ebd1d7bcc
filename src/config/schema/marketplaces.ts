import { booleanSetting, enumSetting, optionalSetting, type Setting, textSetting } from '../setting.ts';
import { issuerUrlAllowed, issuerUrlPattern, serviceUrlAllowed, serviceUrlPattern } from './url-patterns.ts';

const meteredPattern = '(documents|pages|queries|embed_tokens|rerank_tokens)(\\/[1-9]\\d{0,11})?=[^\\s,=]+';
const meteredPairsPattern = new RegExp(`^${meteredPattern}(,${meteredPattern})*$`);
const topicPattern = 'arn:aws[a-z-]*:sns:[a-z0-9-]+:\\d{12}:[A-Za-z0-9_-]+';
const topicListPattern = new RegExp(`^${topicPattern}(,${topicPattern})*$`);

/** AWS Marketplace and Vercel. */
export const marketplaceSettings = {
  awsMarketplace: booleanSetting(false, {
    meaning: 'Accept subscriptions from AWS Marketplace at /api/marketplaces/aws',
  }),
  awsRegion: textSetting('us-east-1', {
    pattern: /^[a-z]{2}(-[a-z]+)+-\d$/,
    meaning: 'Region of the metering service of AWS Marketplace',
    allowed: 'a region such as us-east-1',
  }),
  awsEndpoint: optionalSetting({
    pattern: serviceUrlPattern,
    meaning: 'URL that replaces the endpoints of AWS Marketplace, for tests',
    allowed: serviceUrlAllowed,
    defaultMeaning: 'the endpoints of the region',
  }),
  awsAccessKeyId: optionalSetting({
    meaning: 'Access key of the AWS account of the seller',
    defaultMeaning: 'the credentials that the AWS SDK finds, such as the role of the instance',
  }),
  awsSecretAccessKey: optionalSetting({
    meaning: 'Secret key of QUARRY_AWS_ACCESS_KEY_ID',
    secret: true,
    defaultMeaning: 'as for QUARRY_AWS_ACCESS_KEY_ID',
  }),
  awsProductCodes: optionalSetting({
    pattern: /^[^\s,]+(,[^\s,]+)*$/,
    meaning: 'Product codes of this server in AWS Marketplace',
    allowed: 'product codes separated by commas',
    defaultMeaning: 'all products of the seller',
  }),
  awsTier: enumSetting(['starter', 'teams', 'enterprise'], 'teams', {
    meaning: 'Tier of subscriptions without contract dimensions',
  }),
  awsTiers: optionalSetting({
    pattern: /^[^\s,=]+=(starter|teams|enterprise)(,[^\s,=]+=(starter|teams|enterprise))*$/,
    meaning: 'Tiers by contract dimension',
    allowed: 'pairs such as small=starter,large=teams',
    defaultMeaning: 'none: QUARRY_AWS_TIER for all subscriptions',
  }),
  awsDimensions: optionalSetting({
    pattern: meteredPairsPattern,
    meaning: 'Usage reported to AWS: metric, units per metered unit, and metering dimension',
    allowed:
      'pairs such as queries/1000=queries_1k,embed_tokens/1000000=embed_1m; metrics are documents, pages, queries, embed_tokens and rerank_tokens',
    defaultMeaning: 'none: no usage is reported',
  }),
  awsTopicArns: optionalSetting({
    pattern: topicListPattern,
    meaning: 'SNS topics accepted at /api/marketplaces/aws/events',
    allowed: 'ARNs such as arn:aws:sns:us-east-1:123456789012:name, separated by commas',
    defaultMeaning: 'none: messages get status 503',
  }),
  awsSnsUrl: optionalSetting({
    pattern: /^https?:\/\/[^\s/?#@]+$/,
    meaning: 'Origin that replaces SNS for certificates and confirmations, for tests',
    allowed: 'an origin such as https://sns.us-east-1.amazonaws.com',
    defaultMeaning: 'SNS in the region of the topic',
  }),
  vercelClientId: optionalSetting({
    meaning: 'Client ID of the Vercel integration, for /api/marketplaces/vercel',
    defaultMeaning: 'none: the Vercel integration is disabled',
  }),
  vercelClientSecret: optionalSetting({
    meaning: 'Client secret of QUARRY_VERCEL_CLIENT_ID, which also signs webhooks',
    secret: true,
    defaultMeaning: 'none',
  }),
  vercelApiUrl: textSetting('https://api.vercel.com', {
    pattern: issuerUrlPattern,
    meaning: 'URL of the Vercel API',
    allowed: issuerUrlAllowed,
  }),
  vercelNextHosts: textSetting('vercel.com', {
    pattern: /^[a-z0-9.-]+(,[a-z0-9.-]+)*$/,
    meaning: 'Hosts to which the browser may be redirected after an installation',
    allowed: 'host names separated by commas',
  }),
  vercelTier: enumSetting(['none', 'starter', 'teams', 'enterprise'], 'none', {
    meaning: 'Tier granted by a Vercel installation',
  }),
} satisfies Record<string, Setting>;
