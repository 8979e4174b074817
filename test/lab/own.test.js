/** The load that compares a rule of a user with ours, and its check. */
import t from 'tap'
import { checked, runRule } from '../../lab/systems/own/load.js'
import { KEYS, TECHNIQUES } from '../../lab/systems/own/subjects.js'
import { sharedDeployment } from '../shared.js'

const broken = (/** @type {{ name: string, ok: boolean }[]} */ all) => all.filter(({ ok }) => !ok).map(({ name }) => name)

t.test('each rule accepts every command, and states have as many versions', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  for (const technique of TECHNIQUES) {
    const { measured, invariants, history } = await runRule({ technique, users: 20 }, {
      redisUrl,
      keyPrefix: `${keyPrefix}${technique}:`,
      warmUpSeconds: 0.05,
      seconds: 0.3,
      signal: new AbortController().signal,
      async onMeasuring () {},
      async onMeasured () {}
    })
    t.ok(measured.length > 0, technique)
    t.same(broken(invariants), [], technique)
    t.same(history, [], technique)
  }
})

t.test('a refused command and a lost one are found', async (t) => {
  const replies = Array.from({ length: 2 * KEYS }, (_, n) => ({ n, code: n < KEYS ? 'held' : 'released' }))
  const stored = { versionOf: async () => 3 }
  t.same(broken(await checked(stored, replies)), [])
  t.same(broken(await checked(stored, replies.slice(1))), ['states have as many versions'])
  t.same(broken(await checked(stored, [...replies, { n: 0, code: 'taken' }])), ['every command is accepted'])
})
