/**
 * npm takes flags that stand before `--` for itself: they arrive as variables, and their values as words.
 */
import t from 'tap'
import { SettingsInvalid, resolve } from '../../settings.js'

const KNOWN = { command: 'writer', layouts: ['ids'], acks: ['primary'] }

/** @type {[string, string, string[], Record<string, string>, string][]} typed, command, what arrives, the line that was meant */
const TYPED = [
  ['npm start writer --rate 50000', 'writer', ['50000'], { npm_config_rate: 'true' }, 'npm start writer -- --rate 50000'],
  ['npm start writer --rate=50000', 'writer', [], { npm_config_rate: '50000' }, 'npm start writer -- --rate 50000'],
  ['npm start --rate 50000', 'start', ['50000'], { npm_config_rate: 'true' }, 'npm start -- --rate 50000'],
  ['npm start writer --batch-ms 5 -- --rate 7', 'writer', ['5', '--rate', '7'], { npm_config_batch_ms: 'true' }, 'npm start writer -- --rate 7 --batch-ms 5'],
  ['npm start writer --rate 5 --writers 2', 'writer', ['5', '2'], { npm_config_rate: 'true', npm_config_writers: 'true' }, 'npm start writer -- --rate <value> --writers <value>'],
  ['npm start writer --writers 4 --rate 50000', 'writer', ['4', '50000'], { npm_config_rate: 'true', npm_config_writers: 'true' }, 'npm start writer -- --rate 50000 --writers 4']
]

for (const [typed, command, argv, env, meant] of TYPED) {
  t.test(`"${typed}" is refused with the line that was meant`, async (t) => {
    /** @type {any} */
    let error
    try {
      resolve(argv, env, { ...KNOWN, command })
    } catch (thrown) {
      error = thrown
    }
    t.ok(error instanceof SettingsInvalid)
    t.equal(error.exitStatus, 2)
    t.equal(error.corrected, meant)
    t.ok(error.message.endsWith(`npm keeps flags for itself unless they follow --. Type:\n  ${meant}`), error.message)
    t.ok(error.faults.some((/** @type {string} */ fault) => /^--(rate|batch-ms) did not arrive/.test(fault)))
  })
}

t.test('what npm sets of its own does no harm', async (t) => {
  const env = { npm_config_cache: 'x', npm_config_loglevel: 'silent', npm_config_user_agent: 'npm', npm_config_prefix: '/', npm_lifecycle_event: 'start' }
  t.equal(resolve(['--rate', '5'], env, KNOWN).rate, 5)
})

t.test('faults without swallowed flags name no line', async (t) => {
  t.throws(() => resolve(['--rate', 'x'], {}, KNOWN), { corrected: undefined, message: 'rate: x (--rate); expected a number from 0 to 100,000,000' })
})
