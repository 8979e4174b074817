/** Versions of our rules: a text has one, and processes with others decide nothing. */
import t from 'tap'
import { admissionKey, createAgreement } from '../../src/admission/index.js'
import { versionsOfRules } from '../../src/store/index.js'
import { connectFor } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { admit } from './admit.js'

/** Version and digest. A text that changes gets the next version in its header, and both stand here. */
const VERSIONS = {
  max: '3 8bdd1a434ba6f9fa59d00890a29334f307f0d392',
  bounded: '4 57fee6cd8828174d588fb65be96a8197e8f5c00e',
  latest: '3 3ecff5cd285895f55023adc3985e1ec65c66524b',
  once: '3 fd1cae4c4cba0a125f0b561b645fa2f1f8e1410c',
  step: '4 75e99d07d3fd9296eb94d5aa4ee23d076a3328e1'
}

t.test('a rule whose text was changed has another version', async (t) => {
  t.same(Object.fromEntries(versionsOfRules()), VERSIONS, 'raise VERSION in the header of the rule, and write both here')
})

t.test('a process with an older rule, or another text of it, decides nothing; a newer rule replaces the stored one', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, primary.url)
  const keyOf = admissionKey(keyPrefix, 'auctions', 0)
  const options = { replicationId: 'id', requestMs: 60_000, keepMs: 60_000 }
  let requests = 0
  const create = () => admit(connection, keyOf, options, [{
    rule: 'max',
    key: `a${++requests}`,
    scope: 'u',
    requestId: '',
    args: ['create', '100', '10', '0', '9999999999999', '0', '0', '', '', 'EUR']
  }])
  const stored = (/** @type {string} */ version) => connection.send('HSET', keyOf('generation'), 'rule:max', version)
  t.equal((await create()).decisions[0].code, 'created')
  t.equal(String(await connection.send('HGET', keyOf('generation'), 'rule:max')), VERSIONS.max)

  await stored('4 ab')
  await t.rejects(create(), {
    code: 'RULE_DIFFERS', message: 'rule max of auctions is stored as version 4, and this process has version 3; use the newer rule'
  })
  await stored('3 ab')
  await t.rejects(create(), { code: 'RULE_DIFFERS', message: /version 3 with another text; raise its version/ })
  await stored('1 ab')
  t.equal((await create()).decisions[0].code, 'created')

  const agreement = () => createAgreement({
    router: /** @type {any} */ (connection), keyPrefix, system: 'auctions', partitions: 1, rules: ['max']
  })
  await agreement().agreed()
  await connection.send('HSET', `${keyPrefix}{@auctions}:system:rules`, 'rule:max', '4 ab')
  await t.rejects(agreement().agreed(), { code: 'RULE_DIFFERS' })
})

t.test('while a rule is upgraded, a process with the older one decides nothing, also in calls of several rules', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, primary.url)
  const keyOf = admissionKey(keyPrefix, 'mixed', 0)
  const options = { replicationId: 'id', requestMs: 60_000, keepMs: 60_000 }
  const closeAt = String(Date.now() + 600_000)
  const command = (/** @type {string} */ rule, /** @type {string} */ key, /** @type {string[]} */ ...args) =>
    ({ rule, key, scope: 'u', requestId: `${key} ${args.join()}`, args })
  // an order, its product and its customer, in one call
  const call = () => admit(connection, keyOf, options, [
    command('once', 'ann', 'create', '{}'),
    command('bounded', 'pen', 'create', '5', '5', '0', closeAt, '60000', 'direct', '1', '0', '60000', '{}'),
    command('step', 'o1', 'place', 'ann', '100', '[]', 'here', '60000', 'c'),
    command('bounded', 'pen', 'claim', 'o1', '2', 'o1', 'sold', 'direct', ''),
    command('step', 'o1', 'held'),
    command('step', 'o1', 'no such step')
  ])
  const codes = ['created', 'created', 'created', 'accepted', 'accepted', 'failed']
  t.same((await call()).decisions.map(({ code }) => code), codes)
  t.match((await call()).decisions.map(({ code, isReplay }) => [code, isReplay]), codes.map((code) => [code, code !== 'failed']))
  const sizes = async () => Promise.all([connection.send('XLEN', keyOf('outbox')), connection.send('HGETALL', keyOf('state:pen'))])
  const before = await sizes()

  // a newer process has stored its rule: one rule of a call that differs stops all of it
  await connection.send('HSET', keyOf('generation'), 'rule:step', '4 ab')
  await t.rejects(call(), { code: 'RULE_DIFFERS', message: /rule step of auctions is stored as version 4/ })
  t.same(await sizes(), before)
  const other = await admit(connection, keyOf, options, [command('bounded', 'pen', 'claim', 'o2', '1', 'o2', 'sold', 'direct', '')])
  t.match(other.decisions, [{ code: 'accepted' }], 'calls without that rule are decided')
  // the older process comes first again: its rule is replaced
  await connection.send('HSET', keyOf('generation'), 'rule:step', '2 ab')
  t.match((await admit(connection, keyOf, options, [command('step', 'o1', 'capture_requested', '')])).decisions, [{ code: 'accepted' }])
  t.equal(String(await connection.send('HGET', keyOf('generation'), 'rule:step')), VERSIONS.step)
  // a server that lost the functions gets them again
  await connection.send('FUNCTION', 'FLUSH', 'SYNC')
  t.match((await admit(connection, keyOf, options, [command('step', 'o1', 'captured')])).decisions, [{ code: 'accepted', seq: 4 }])
})
