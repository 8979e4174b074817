/**
 * Reading and checking of settings; settings.js has the table.
 *
 * @typedef {import('./checks.js').Check} Check
 * @typedef {import('./checks.js').Context} Context
 * @typedef {import('./command-line/index.js').Lost} Lost
 * @typedef {import('./rows.js').Row} Row
 * @typedef {{ values: Record<string, any>, origins: Record<string, string>, words: string[] }} SettingsInput
 */
export {
  brokerList, databaseUrl, FIELD, grouped, httpUrl, integer, isModule, keysSource, listWhere, matching, nodeUrls, number, oneOf,
  oneOfKnown, oneWhere, originList, orReplicas, present, proxyList, readableFile, serverUrl, serverUrls, trueOrFalse, writableFile,
  writerFlags
} from './checks.js'
export { didYouMean, envOf, flagOf, givenBy, readRows, unknownName, withoutSecrets } from './rows.js'
export * as table from './resolve.js'
