/**
 * The header of a script and its body agree, for every script of the product and of the lab.
 */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { LAB_SCRIPTS } from '../../lab/loads/scripts.js'
import { CHUNK_HEAD, readScript, scriptNames, versionsOfRules } from '../../src/store/scripts.js'
import { connectFor, engineName, startDeployment } from '../servers.js'
import { scopedEngines } from '../scope.js'

/** Lines of code that are allowed to some. @type {Record<string, number>} */
const LONG = { admit: 150 }
/** Scripts that run code of rules, in which something may fail. */
const RUNS_RULES = ['admit', 'compile-rule']
const PARTS = ['KEYS', 'ARGV', 'RETURNS', 'COST', 'MODE']

/** How each is called to see that it runs on a replica, or writes: on a set of a at 1 and b at 2. @type {Record<string, any>} */
const CALLS = {
  admit: {
    keys: ['outbox', 'tasks', 'generation', 'request:a', 'state:a', 'events:a'],
    args: ['id', 1000, 1000, 0, JSON.stringify([[['max', 'a']], [1]]), JSON.stringify(['bid', 'u', '1', '1']), ''],
    prepare: ['HSET', 'generation', 'replid', 'id', 'lineage', 'l', 'n', '0', 'rule:max', versionsOfRules().get('max')]
  },
  'agree-rules': { keys: ['rules'], args: ['seat', 1, 'ab'] },
  'compile-rule': { keys: [], args: ['return 1 +', ''], reply: Buffer.from("user_script:1: unexpected symbol near '<eof>'") },
  'pattern-limits': { keys: [], args: ['^%s*(.-)%s*$', 'a'], reply: ['843', '100000000'].map((word) => Buffer.from(word)) },
  'register-consumer': { keys: ['cursors', 'generation'], args: ['c'] },
  advance: { keys: ['owner', 'cursors', 'generation', 'outbox'], args: [1, 'c', '0-0'], prepare: ['HSET', 'owner', 'token', '1'] },
  attempt: { keys: ['owner', 'attempts'], args: [1, 'c', '1-0', 3], prepare: ['HSET', 'owner', 'token', '1'] },
  heartbeat: { keys: ['consumers'], args: ['id', 1, 1000] },
  lease: { keys: ['owner', 'generation', 'cursors', 'outbox', 'consumers'], args: ['id', 0, 1000, 0, 0, 'c'] },
  'read-places': {
    keys: ['state', 'members', 'waiting', 'holds', 'generation'],
    args: ['u', 'v'],
    prepare: ['HSET', 'members', 'wait u', '1 c', 'claim c', 'waiting 0 u 0'],
    reply: [null, null, null, null, null, null, ...['c waiting - -', ''].map((word) => Buffer.from(word))]
  },
  'replay-letter': { keys: ['dead', 'outbox', 'generation'], args: ['1-0'], prepare: ['XADD', 'dead', '1-0', 'fields', '["a","b"]'] },
  'turn-back': { keys: ['generation', 'tasks'], args: ['seat expire'], prepare: ['HSET', 'generation', 'now', Date.now() + 3_600_000] },
  'begin-lineage': { keys: ['generation'], args: ['id', '', 'lineage', 1] },
  'append-batch': { keys: ['ids', 'item:c'], args: [5, 1000, 3, 'c'] },
  'append-newest': { keys: ['ids', 'deletions', 'item:c'], args: [1, 0, 1000, 0, 0, Buffer.alloc(9, 1), 3, 'c'] },
  'mend-scores': { keys: ['ids', 'item:c'], args: ['12345678', 1, 'item:'] },
  'append-item': { keys: ['ids', 'item:c'], args: [5, 1000, 3, 'c'] },
  'read-key': {
    keys: ['state', 'events', 'outbox', 'generation'], args: [10], reply: [[], [], [], [null, null]]
  },
  'seek-members': { keys: ['ids'], args: [2, 'b', 'older', 10], reply: [1, ['a', '1'].map((word) => Buffer.from(word))] },
  'find-members': { keys: ['ids'], args: [2, 'a', 'b'], reply: [null, Buffer.from('b')] },
  'members-between': { keys: ['ids'], args: ['+inf', '', 1, 'a', 1], reply: [2, ['b', '2'].map((word) => Buffer.from(word))] },
  'trim-ids': { keys: ['ids', 'item:a'], args: [2, 0, 'a'] },
  'trim-log': { keys: ['log', 'ahead', 'appended', 'marks'], args: [1000, 5, Date.now(), 0, 500] },
  'trim-values': { keys: ['ids'], args: [2, 0, 500] }
}

/** @param {string} body without its comments, and what hides the server from rules */
const codeOf = (body) => body.split('\n').filter((line) => !line.trim().startsWith('--') && !CHUNK_HEAD.endsWith(`${line.replace(/^.* = /, '')}\n`))

/** @param {string} header @returns {{ single: number[], ranges: number[] }} `[1] a, [2..n+1] b` -> 1, and from 2 on */
const declaredIn = (header) => ({
  single: [...header.matchAll(/\[(\d+)\]/g)].map(([, index]) => Number(index)),
  ranges: [...header.matchAll(/\[(\d+|n\+1)\.\.\d*n(?:[+-]\d+)?\]/g)].map(([, from]) => Number(from))
})

/** @param {string} code @returns {string[]} */
const commandsIn = (code) => [...new Set([...code.matchAll(/redis\.p?call\(\s*'([A-Z]+)'/g)].map(([, command]) => command))]

const folders = [{ path: 'lua', texts: undefined }, { path: 'lab/loads/lua', texts: LAB_SCRIPTS }]
const scripts = folders.flatMap(({ path, texts }) =>
  scriptNames(texts).map((name) => ({ file: `${path}/${name}.lua`, texts, script: readScript(name, texts) })))

const deployments = await Promise.all((await scopedEngines()).map(async (engine) =>
  ({ engine, ...await startDeployment(t, { engine, replicas: 1 }) })))

for (const { file, texts, script: { name, body, sha, headers, mode } } of scripts) {
  const lines = codeOf(body)
  const code = lines.join('\n')

  t.test(`${file} has its effect and the reason for atomicity in the header, then all parts in order`, async (t) => {
    const [effect, why, ...rest] = body.split('\n')
    t.match(effect, /^-- [A-Z].*\.$/)
    t.match(why, /^-- Atomic, because .*\.$/)
    t.same(rest.slice(0, PARTS.length).map((line) => /^-- ([A-Z]+) /.exec(line)?.[1]), PARTS)
    t.ok(PARTS.every((part) => headers[part].length > 0))
    const own = codeOf(await readFile(new URL(`../../${file}`, import.meta.url), 'utf8')).length
    t.ok(own <= (LONG[name] ?? 60), `${own} lines`)
  })

  for (const table of ['KEYS', 'ARGV']) {
    t.test(`${file} uses the ${table} that its header declares`, async (t) => {
      const { single, ranges } = declaredIn(headers[table])
      const used = [...code.matchAll(new RegExp(`${table}\\[([^\\]]+)\\]`, 'g'))].map(([, index]) => index.trim())
      const numbers = used.filter((index) => /^\d+$/.test(index)).map(Number)
      const isComputed = used.some((index) => !/^\d+$/.test(index)) || code.includes(`unpack(${table}`) || code.includes(`#${table}`)
      t.same([...new Set(numbers)].sort(), single, 'every single one, and no other')
      t.equal(isComputed, ranges.length > 0, 'a range, if there is one')
      // rules of users come first, so that they see nothing of the script; so does what is made once
      const first = name === 'admit' ? lines.find((line) => line.includes('KEYS[1]')) ?? '' : name === 'compile-rule' ? lines[1] : lines[0]
      for (const index of single) t.ok(first.includes(`${table}[${index}]`), `the first line names ${table}[${index}]`)
    })
  }

  t.test(`${file} builds no key and has no user text in an error`, async (t) => {
    const calls = code.match(/redis\.p?call\(/g) ?? []
    const plain = code.match(/redis\.call\('[A-Z]+', (?:'STREAM', )?((?:KEYS|ARGV)\[[^\]]+\]|[a-z]+|unpack\([a-zA-Z]+(, [^)]+)?\))[,)]|redis\.call\('TIME'\)/g) ?? []
    t.equal(plain.length, calls.length, 'commands and keys stand there whole')
    t.notOk(/error_reply|redis\.pcall|math\.random/.test(code))
    t.equal(code.includes('loadstring'), name === 'compile-rule')
    t.equal(/\bpcall/.test(code), RUNS_RULES.includes(name), 'one command that fails does not fail the others of a call')
  })

  t.test(`${file} has only local names`, async (t) => {
    const assigned = lines.flatMap((line) => [...line.matchAll(/^\s*([a-z_]\w*)\s*=(?!=)/g)].map(([, variable]) => variable))
    for (const variable of assigned) t.ok(new RegExp(`local [^=\\n]*\\b${variable}\\b`).test(code), variable)
  })

  for (const { engine, primary, replicas: [replica] } of deployments) {
    t.test(`${file} on ${engineName(engine)}: MODE ${mode} matches its commands`, async (t) => {
      const connection = await connectFor(t, primary.url)
      await connection.send('FLUSHALL')
      await connection.send('SCRIPT', 'FLUSH')
      const names = commandsIn(code)
      const infos = names.length === 0 ? [] : await connection.send('COMMAND', 'INFO', ...names)
      const writing = infos.filter((/** @type {any} */ info) => info?.[2].map(String).includes('write'))
      t.equal(writing.length > 0, mode === 'writes', names.join(' '))
      t.equal(String(await connection.send('SCRIPT', 'LOAD', body)), sha)
      await connection.send('ZADD', 'ids', 1, 'a', 2, 'b')
      const [command, ...words] = CALLS[name].prepare ?? ['PING']
      await connection.send(command, ...words)
      await connection.send('WAIT', 1, 20_000)
      const onReplica = await connectFor(t, replica.url)
      const { keys, args, reply } = CALLS[name]
      if (texts !== undefined) {
        await onReplica.send('SCRIPT', 'LOAD', body)
        return await t.rejects(onReplica.send('EVALSHA', sha, keys.length, ...keys, ...args), /READONLY/)
      }
      const run = onReplica.runScript(name, keys, args)
      if (mode === 'read') t.same(await run, reply)
      else await t.rejects(run, { code: 'SERVER_LOST', outcome: 'over', message: /READONLY/ })
    })
  }
}

t.test('an include is not a script, and is part of the body', async (t) => {
  t.notOk(scriptNames().some((name) => name.includes('less')))
  for (const name of ['seek-members', 'members-between', 'find-members']) {
    const { body } = readScript(name)
    t.match(body, /local function less/)
    t.notMatch(body, /@include/)
  }
})

t.test('a script that does not exist is an error', async (t) => {
  t.throws(() => readScript('no-such-script'), { message: /^there is no script no-such-script; `npm run lua` / })
})
