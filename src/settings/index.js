/**
 * Reading and checking of settings; settings.js has the table.
 *
 * @typedef {import('./checks.js').Check} Check
 * @typedef {import('./checks.js').Context} Context
 * @typedef {import('./command-line/flags.js').Lost} Lost
 * @typedef {import('./rows.js').Row} Row
 * @typedef {{ values: Record<string, any>, origins: Record<string, string>, words: string[] }} SettingsInput
 */
export {
  brokerList, databaseUrl, httpUrl, keysSource, nodeUrls, originList, proxyList, serverUrl, serverUrls
} from './addresses.js'
export {
  FIELD, grouped, integer, isModule, listWhere, matching, number, oneOf, oneOfKnown, oneWhere, orReplicas, present, readableFile,
  trueOrFalse, writableFile, writerFlags
} from './checks.js'
export { envOf, flagOf, givenBy, readRows, withoutSecrets } from './rows.js'
export { didYouMean, unknownName } from './unknown.js'
export * as table from './resolve.js'
