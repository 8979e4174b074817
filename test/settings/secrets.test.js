import t from 'tap'
import { SETTINGS, flagOf, printable, resolve } from '../../settings.js'

const KNOWN = { command: 'reader', layouts: ['ids'], acks: ['primary'] }
const SECRET = 'open-sesame'

t.test('passwords and tokens are not printable', async (t) => {
  const settings = resolve([
    '--redis-url', `redis://bus:${SECRET}@host:1/2`,
    '--replica-url', `redis://:${SECRET}@one:1,rediss://bus:${SECRET}@two:2`
  ], {}, KNOWN)
  const shown = printable(settings)
  t.notOk(JSON.stringify(shown).includes(SECRET))
  t.match(shown, { redisUrl: 'redis://***@host:1/2', port: 8080 })
  for (const host of ['one:1', 'two:2']) t.ok(JSON.stringify(shown.replicaUrl).includes(host))
  t.notOk('origins' in shown)
})

t.test('the password of --target is not printable', async (t) => {
  const settings = resolve(['007', '--target', `redis://bus:${SECRET}@host:1`], {}, { ...KNOWN, command: 'experiment', positionals: 1 })
  t.equal(printable(settings).target, 'redis://***@host:1')
})

t.test('a password may hold an @', async (t) => {
  t.equal(printable(resolve(['--redis-url', 'redis://:open@sesame@host:1'], {}, KNOWN)).redisUrl, 'redis://***@host:1')
})

t.test('an address with an unescaped password is refused and not shown', async (t) => {
  for (const [flag, url] of [['--redis-url', `redis://user:12/${SECRET}@host:1`], ['--redis-url', `redis://user:12#${SECRET}@host:1`],
    ['--redis-url', `redis://:12/${SECRET}@host:1`], ['--replica-url', `redis://one:1,redis://user:12/${SECRET}@two:2`]]) {
    try {
      resolve([flag, url], {}, KNOWN)
      t.fail(`${url} was taken`)
    } catch (error) {
      t.match(error.message, /\(hidden\)/)
      t.notOk(error.message.includes(SECRET))
    }
  }
})

t.test('every password is masked', async (t) => {
  for (const password of [`a/${SECRET}`, `a@/${SECRET}`, `a,${SECRET}`, `a?${SECRET}`, `a#/@${SECRET}`]) {
    const shown = printable({
      origins: {}, redisUrl: `redis://user:${password}@host:1`, replicaUrl: ['redis://one:1', `rediss://user:${password}@two:2?ca=FILE`]
    })
    t.notOk(JSON.stringify(shown).includes(SECRET), password)
    t.same(shown, { redisUrl: 'redis://***@host:1', replicaUrl: 'redis://one:1,rediss://***@two:2?***' })
  }
})

t.test('passwords of Sentinels and of their servers are masked', async (t) => {
  const url = `redis+sentinel://bus:a%2F@${SECRET}@one,two:2/primary?sentinelUser=bus&sentinelPassword=${SECRET}`
  t.equal(printable(resolve(['--redis-url', url], {}, KNOWN)).redisUrl, 'redis+sentinel://***@one,two:2/primary?***')
  for (const [wrong, why] of [[`redis+sentinel://bus:${SECRET}@one,two`, /names no primary/],
    [`redis+sentinel://bus:${SECRET}@one/primary?password=${SECRET}`, /its query has the field password/],
    [`redis+sentinel://one/primary?sentinelPassword=a@${SECRET}/primary`, /an @ after the hosts; in a password write .* %40/],
    [`redis+sentinel://bus:1/${SECRET}@one/primary`, /an @ after the hosts/], [`redis+sentinel://bus:1/${SECRET}@one`, /an @ after/],
    [`redis+sentinel://one/primary%${SECRET}`, /expected/],
    ['rediss+sentinel://bus@one,two/primary?iam=NAME', /ElastiCache, which has no Sentinels/]]) {
    try {
      resolve(['--redis-url', String(wrong)], {}, KNOWN)
      t.fail(`${wrong} was taken`)
    } catch (error) {
      t.match(error.message, why)
      t.notOk(error.message.includes(SECRET))
    }
  }
})

t.test('unset values and addresses without a password are shown as they are', async (t) => {
  t.match(printable(resolve(['--redis-url', 'redis://host:1'], {}, KNOWN)),
    { redisUrl: 'redis://host:1', replicaUrl: null })
})

t.test('the message about a wrong secret does not show it', async (t) => {
  for (const row of SETTINGS.filter(({ secret, uses }) => secret && uses.includes('reader'))) {
    const bad = `http://:${SECRET}@host`
    for (const [argv, env] of /** @type {[string[], Record<string, string>][]} */ ([[[`--${flagOf(row.name)}`, bad], {}],
      [[], { ['FRESHET_' + flagOf(row.name).replace('-', '_').toUpperCase()]: bad }]])) {
      t.throws(() => resolve(argv, env, KNOWN), { message: new RegExp(`^${row.name}: \\(hidden\\)`) })
    }
  }
})

t.test('the message names the wrong part of an address, and nothing that may be secret', async (t) => {
  for (const [url, why] of [
    [`rediss://:${SECRET}@host:1?cafile=${SECRET}`, 'its query has the field cafile, which is not one of ca, cert, key, iam'],
    [`redis://:${SECRET}@host:1?ca=${SECRET}`, 'its query has the field ca, which needs rediss://'],
    [`rediss://:${SECRET}@host:1?${'x'.repeat(50)}=1`, 'its query has a field, which is not one of ca, cert, key, iam'],
    [`redis://user:12?${SECRET}=1@host:1`, 'its query has a field, which is not one of ca, cert, key, iam'],
    [`redis://user:12/${SECRET}@host:1`, 'it has an @ after the host; in a password write / ? # as %2F %3F %23'],
    [`redis://:${SECRET}@host:port`, 'its host or port cannot be read'],
    ['redis:///2', 'it names no host'],
    [`${SECRET}@host:1`, 'it does not begin with redis:// or rediss://'],
    [`${SECRET}://host:1`, 'it does not begin with redis:// or rediss://']
  ]) {
    for (const [name, value] of [['redisUrl', url], ['replicaUrl', `redis://one:1,${url}`]]) {
      const argv = name === 'redisUrl' ? ['--redis-url', value] : ['--redis-url', 'redis://one:1', '--replica-url', value]
      try {
        resolve(argv, {}, KNOWN)
        t.fail(`${url} was taken`)
      } catch (error) {
        t.ok(error.message.startsWith(`${name}: (hidden), ${why} (--${flagOf(name)}); expected `), error.message)
        t.notOk(error.message.includes(SECRET))
      }
    }
  }
})
