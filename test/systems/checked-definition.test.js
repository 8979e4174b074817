/** What openSystem refuses before it asks a server. */
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { SEAT } from './seats.js'

t.test('all faults of a definition and its options are reported at once', async (t) => {
  const redisUrl = 'redis://127.0.0.1:1'
  const lua = SEAT
  const rule = { lua: 7, version: 0, folds: 1, keeps: ['member'], maxArgBytes: 65_537 }
  const wrong = /** @type {any} */ ({ name: 'Seats', rules: { 'a b': rule }, route: {} })
  await t.rejects(openSystem(wrong, { redisUrl }), {
    code: 'SETTINGS_INVALID',
    faults: [/^name: Seats; expected a-z/, /route is unknown/, /name of a rule/, /folds is unknown/, /lua: a value of type number/, /version: 0/,
      /maxArgBytes: 65537; expected an integer of 1 to 65536/, /keeps: member; expected a list of members holds waiting/]
  })
  await t.rejects(openSystem({ name: 'sales', rules: { seat: { lua } } }, { redisUrl }), { message: /sales is a system of Freshet/ })
  await t.rejects(openSystem({ name: 'seats', rules: {} }, { redisUrl }), { message: /with a rule or more/ })
  await t.rejects(openSystem({ name: 'seats', rules: { seat: { lua: new URL('file:///none.lua') } } }, { redisUrl }), { message: /none\.lua cannot be read \(ENOENT\)/ })
  await t.rejects(openSystem({ name: 'seats', rules: { seat: { lua } } }, /** @type {any} */ ({ partition: 4, deadlineMs: 1 })), {
    code: 'SETTINGS_INVALID',
    faults: [/partition is unknown; did you mean partitions\?/, /deadlineMs: 1/, /redisUrl is missing/]
  })
  await t.rejects(openSystem({ name: 'seats', rules: { seat: { lua } }, durability: 0 }, { redisUrl }),
    { code: 'SETTINGS_INVALID', message: /durability: 0 .*expected memory \| replica \| aof \| a number of replicas, 1 to 16/ })
  await t.rejects(openSystem({ name: 'seats', rules: { seat: { lua } }, durability: 2 }, { redisUrl }), { code: 'SERVER_UNREACHABLE' })
})
